"""Types shared by all processes: records, commands, options, frames, paths.

They import only the standard library and msgspec, so that the app, the service and the command line load neither torch
nor Warp. docs/reference/protocol.md describes the formats in prose.
"""
