"""The errors that rollgraph raises, as one tree.

RollgraphError
├── RecordError           one record is not valid: its field, what was found, what was expected
├── IngestError           a source cannot be read at all
├── GameError             a game cannot be played as asked
├── RecorderError         a session cannot be recorded as asked
├── StoreError            a store cannot be opened, read or written
│   ├── UncertainWriteError   a server went away, and may have written a transaction or not
│   ├── StoreLockedError      another process holds the embedded store
│   └── SchemaVersionError    the database was made by another version of the schema
├── QueryError            an unknown query, or a parameter that it does not take
└── CreditError           an unknown method, or a group that the method cannot answer for

Each message names the thing, what was found, what was expected and what to do next. The command
line prints it as one line and exits with status 2.
"""


class RollgraphError(Exception):
    """The root of the tree: catch this to catch all that rollgraph raises on purpose."""


class RecordError(RollgraphError):
    """One record is not valid.

    `field` is the path of the faulty field within the record, such as `steps[0].reward`; empty
    where the line as a whole is at fault.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message


class IngestError(RollgraphError):
    """A source cannot be read at all."""


class GameError(RollgraphError):
    """A game cannot be played as asked."""


class RecorderError(RollgraphError):
    """A session cannot be recorded as asked."""


class StoreError(RollgraphError):
    """A store cannot be opened, read or written."""


class UncertainWriteError(StoreError):
    """A server went away during a transaction, and may have written it or not."""


class StoreLockedError(StoreError):
    """Another process holds the embedded store open for writing."""


class SchemaVersionError(StoreError):
    """The database was made by another version of the schema."""


class QueryError(RollgraphError):
    """An unknown query, or a parameter that it does not take."""


class CreditError(RollgraphError):
    """An unknown credit method or parameter, or a group that the method cannot answer for."""
