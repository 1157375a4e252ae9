"""The real cluster as the scheduler's world: bindings, events, conditions, evictions and volumes go out from here."""
