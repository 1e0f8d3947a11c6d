"""Whether a Hugging Face model can speak at all: its files, shape, tokenizer and chat template.

    python -m harness.policy.trial POLICY_AS_JSON

A process of its own, since transformers takes seconds and memory that a command has no use for.
What is not here yet is downloaded. Exit code 2 with one sentence on stdout where it will not do.
"""

from __future__ import annotations

import json
import sys

from harness.config.run import PolicyConfig
from harness.errors import ConfigError
from harness.policy import fetch


def main(policy: PolicyConfig) -> None:
    """Raises ConfigError."""
    folder = fetch.ensure(policy)
    from harness.policy import huggingface
    from harness.policy.chat import chat_of

    tokenizer = huggingface.load_tokenizer(policy, folder)
    chat_of(tokenizer, policy.system_prompt, policy.thinking)
    huggingface.check_vocabulary(policy, tokenizer, huggingface.without_weights(policy, folder))


if __name__ == "__main__":
    try:
        main(PolicyConfig(**json.loads(sys.argv[1])))
    except ConfigError as error:
        print(error)
        sys.exit(ConfigError.exit_code)
