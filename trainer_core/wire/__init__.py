"""The whole contract between processes: records, messages, paths, frames, tasks.

Import-light by rule (standard library and msgspec): the app, the service and the command line
read these types without paying for torch or warp. docs/reference/protocol.md is the prose beside them.
"""
