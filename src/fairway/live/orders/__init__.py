"""What people change about jobs, queues and windows of a cluster: ordinary writes, with their own rights.

`caller` reads, writes and hears of what comes; `found_job` finds a job's record; `speakers` are the objects by which an
owner speaks; `limits` asks for another limit, `job_orders` holds, releases, requeues and cancels; `queue_orders` and
`window_orders` are about queues and maintenance. Each writes, waits for the scheduler's answer, and says what is true
then; words for people are made by the commands.
"""
