"""What schedulers tell at each step, to whoever listens: Fairway's own stream, and scheduler-sniffer's protocol.

The stream: `telling` makes events (`told`) of what a recorder hears and puts them into a `ring`; `watching` is a
reader's place in it, `watch_service` serves readers, `watch_client` is one, `saving` makes a run of what it reads.
`serving` is how a scheduler has all that done by another process.
The sniffer: `message` is one message and its two forms in a log, `sniffed` what many of them say about pods and nodes,
`sniffed_run` the run that comes of it; `sniffer_service` and `sniffer_client` are the two ends of its protocol.
"""
