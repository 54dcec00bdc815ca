// What a command wrote, and what became of it.
//
// Parameters:
//   command (string): the command's id, such as ROLLOUT/2/0
//   whole_file (string, default "removal"): reading of WHOLE_FILE: removal, literal or supersede (D1)
// Columns:
//   fragment: number of the fragment within the rollout
//   path: the file
//   first: first line; NULL: the whole file
//   last: last line; NULL: the whole file
//   records: how many records the fragment stands for
//   removal: whether it is the record of the file's removal
//   owned: whether it is still the command's when the agent ends
MATCH (c:Command {id: $command})-[:WROTE_LINES]->(f:Fragment)-[:`IN`]->(p:Resource)
RETURN f.number AS fragment, p.name AS path, f.first AS first, f.last AS last, f.records AS records,
  f.removal AS removal, $whole_file IN f.owned AS owned
ORDER BY fragment
