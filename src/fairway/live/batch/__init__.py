"""Queues of jobs on a real cluster: the objects that operators write, the records that we write, and the desk between.

`objects` are our kinds as the API server has them; `catalogue` makes the desk's settings of them; `record_codec` says
how a job is written down; `outbox` sends what is written, in an order that may be cut off anywhere; `record_store` has
what the server has of records and books; `job_actions` carries out what the desk wants done to pods, Jobs and nodes;
`live_desk` is the world of a `fairway.batch.Desk`; `batch_service` opens and closes it as our kinds and the lease come
and go. The API server is the truth: whoever comes later finds everything there.
"""
