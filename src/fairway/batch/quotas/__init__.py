"""What queues may use: quotas, the most they may have, what each user may have; borrowing, and taking back.

`Quotas` (`quotas`) keeps the plan's allowances in step with who runs, and says who may borrow; `borrowing` has rules.
"""
