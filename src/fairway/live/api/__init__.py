"""The connection to an API server: which one and as whom, requests and watch streams, and what can go wrong.

Here are also the live room's two doors, which tests replace: `api_server.ApiServer` and `clock.Clock`.
"""
