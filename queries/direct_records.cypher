// Which written records are still their writer's at the end, in a file that the verifier inspected.
//
// DepGPO, A.3, Eq. 11 and 12: the records D_c that contribute directly.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
//   whole_file (string, default "removal"): reading of WHOLE_FILE: removal, literal or supersede (D1)
// Columns:
//   rollout: id
//   position: the writing command's position within the rollout
//   fragment: number of the fragment within the rollout
//   records: how many records the fragment stands for
MATCH (r:Rollout)-[:VERIFIED_BY]->(:Command)-[e:READ|PROBED]->(:Resource)<-[:`IN`]-(f:Fragment)<-[:WROTE_LINES]-(c:Command)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
WITH DISTINCT r.id AS rollout, c.position AS position, f.number AS fragment, f.records AS records,
  f.owned AS owned, e.shadowed AS shadowed, e.self_written AS self_written
WHERE $whole_file IN owned AND shadowed = false AND self_written = false
RETURN DISTINCT rollout, position, fragment, records
