"""The served user: a language model behind an OpenAI-compatible endpoint plays the user.

simulator.py answers a batch with one coroutine per conversation. prompts.py makes the requests:
the policy's words are quoted data (quoting.py) and the level is described in words (wording.py).
answers.py parses the answers strictly. client.py answers each request from the journal or the
endpoint and retries within a budget. faults.py has typed faults and outages; completions.py has
requests, responses and the redaction of the key. cast.py draws the user: a built-in persona, or a
profile from a file (profiles.py, rlver.py).
"""
