"""The served user: a model behind an OpenAI-compatible endpoint plays it.

simulator.py answers a batch, one coroutine a conversation; prompts.py words what is asked, with
what the policy said as quoted data (quoting.py) and the level in words (wording.py); answers.py
reads the answers strictly. client.py gets each request answered, from the journal or the endpoint,
and retries within a budget; faults.py has typed faults and outages, completions.py requests,
responses and the redaction of the key. cast.py says who comes, one of our personas or of a file of
profiles (profiles.py, rlver.py).
"""
