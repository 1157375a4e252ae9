"""Is it better? Runs of several policies side by side: metrics with their spread, gates, where they part, a report.

`metrics` is the comparison, `gate` what `--fail-if` means, `partings` the first different decision, `text` and `report`
how people see it. Called by the commands `sim` and `compare`.
"""
