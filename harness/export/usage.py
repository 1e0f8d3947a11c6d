"""How an exported model is loaded and talks: Python that needs nothing of this package."""

from __future__ import annotations

from collections.abc import Sequence

from harness.config.run import PolicyConfig
from harness.export.markdown import literal
from harness.policy.chat import DATE

EXAMPLE = "It is about my exam. I failed it twice."


def lines(policy: PolicyConfig, base: str | None, template: str) -> Sequence[str]:
    """A first reply, drawn as in training; run in the folder of the export.

    `base`: the name that adapters' model is loaded by, or None for whole weights. `template`: the
    chat template, which is told what it asks for.
    """
    system = [("system", policy.system_prompt)] if policy.system_prompt else []
    told = [*system, ("user", EXAMPLE)]
    messages = [
        f'    {{"role": "{role}", "content": {literal(content)}}},' for role, content in told
    ]
    asked = {"enable_thinking": repr(policy.thinking), "date_string": literal(DATE)}
    options = "".join(f", {key}={value}" for key, value in asked.items() if key in template)
    return [
        *_loading(base),
        "messages = [",
        *messages,
        "]",
        "asked = tokenizer.apply_chat_template(",
        f'    messages, add_generation_prompt=True, return_tensors="pt", return_dict=True{options}',
        ")",
        f"drawn = model.generate(**asked{_sampling(policy) if base else ''})",
        'reply = drawn[0, asked["input_ids"].shape[1] :]',
        "print(tokenizer.decode(reply, skip_special_tokens=True))",
    ]


def _loading(base: str | None) -> Sequence[str]:
    if base is None:
        return [
            "from transformers import AutoModelForCausalLM, AutoTokenizer",
            "",
            'model = AutoModelForCausalLM.from_pretrained(".")',
            'tokenizer = AutoTokenizer.from_pretrained(".")',
        ]
    return [
        "from peft import PeftModel",
        "from transformers import AutoModelForCausalLM, AutoTokenizer",
        "",
        f"base = AutoModelForCausalLM.from_pretrained({base})",
        'model = PeftModel.from_pretrained(base, ".")',
        'tokenizer = AutoTokenizer.from_pretrained(".")',
    ]


def _sampling(policy: PolicyConfig) -> str:
    """Of adapters the options are written out: their model has settings of its own."""
    drawn = f"do_sample=True, temperature={policy.temperature!r}, top_k=0, top_p=1.0"
    return f", {drawn}, max_new_tokens={policy.max_turn_tokens}"
