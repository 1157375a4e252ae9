"""The built-in plugins: one plugin, one file, under Kubernetes' own name in snake_case.

Each imports only what a user's plugin may: `fairway.plugin`, `fairway.cluster`, `fairway.model`. `registry` lists them.
"""
