"""The command line: `fairway`, also found by kubectl as `kubectl fairway`.

One file per command, imported only when that command runs; `main` is the door, `output` is how all of them print,
`options` has what several of them share.
"""
