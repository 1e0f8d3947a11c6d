"""The served user: a model behind an OpenAI-compatible endpoint plays it.

simulator.py answers a batch, one coroutine a conversation; prompts.py words what is asked, with
what the policy said as quoted data (quoting.py); line.py gets each request answered, from the
journal or the endpoint, and tries again within a budget; faults.py types what can go wrong,
outage.py waits for an endpoint that is away, and redaction.py keeps the key out of what comes back.
cast.py says who comes, one of our own people or of a file of profiles (profiles.py, rlver.py).
"""
