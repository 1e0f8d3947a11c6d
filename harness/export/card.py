"""README.md of an export: the model card, made from the run's files.

It shows how to load and use the model, in Python that does not need this package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.config.run import PolicyConfig
from harness.export import base_model, markdown, sections
from harness.export.markdown import literal
from harness.export.measured import ExportedResults
from harness.export.source import Source
from harness.policy.chat import DATE
from harness.records import provenance
from harness.records.provenance import MadeBy
from harness.report.tables.typeset import in_markdown

LIMITS = (
    "This is the policy of an experiment. Its reward is the emotion of a simulated user; it has "
    "not been tested with people. Do not let it talk with anyone who needs help."
)
EXAMPLE = "It is about my exam. I failed it twice."
"""The user's message in the card's Python example."""


def text(source: Source, measured: ExportedResults, merged: bool, folder: Path) -> str:
    """Return the card of the export in `folder`, which must contain all other files already."""
    base = base_model.of(source.config.policy)
    template = folder / "chat_template.jinja"
    parts = [
        markdown.front_matter(_front_matter(source, base, merged)),
        f"# {in_markdown(_title(source))}\n",
        f"{in_markdown(_description(source))}\n\n{in_markdown(LIMITS)}\n",
        *_usage_section(
            source, base, merged, template.read_text("utf-8") if template.is_file() else ""
        ),
        *sections.results(measured),
        *sections.law(source, measured.law),
        *sections.difficulty(source, measured),
        *sections.measurement(source),
        *sections.example(measured),
        *sections.settings(source),
    ]
    return "\n".join(parts)


def _front_matter(source: Source, base: base_model.BaseModel, merged: bool) -> Mapping[str, Any]:
    adapters = source.is_adapted and not merged
    config = source.config
    methods = [f"remedy:{name}" for name in config.remedy.methods]
    values = {
        "license": base.license,
        "language": ["en"] if config.policy.kind == "tiny" else None,
        "base_model": base.name,
        "base_model_relation": ("adapter" if adapters else "finetune") if base.name else None,
        "library_name": "peft" if adapters else "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["empathy-harness", "reinforcement-learning", config.algorithm.name, *methods],
    }
    return {key: value for key, value in values.items() if value is not None}


def _title(source: Source) -> str:
    config = source.config
    null = ", null control" if config.algorithm.null_control else ""
    users = f"{config.difficulty.name} users ({config.simulator.kind})"
    return f"{config.policy.name}, {config.algorithm.name} on {users}, seed {config.seed}{null}"


def _description(source: Source) -> str:
    status, steps = source.status, source.config.trainer.steps
    versions = provenance.describe_versions(MadeBy(status.versions, status.git))
    return (
        f"A supporter in conversation, trained by reinforcement learning against a simulated user: "
        f"the weights after step {source.checkpoint.step} of {steps}, by {versions}."
        f"{_unfinished_note(source)}"
    )


def _unfinished_note(source: Source) -> str:
    """Return a sentence about a run that is not done; empty otherwise."""
    status = source.status.status
    return "" if status == "done" else f" The run had not come to its end: {status}."


def _usage_section(
    source: Source, base: base_model.BaseModel, merged: bool, template: str
) -> Iterator[str]:
    adapters = source.is_adapted and not merged
    yield "## Use\n"
    yield f"Starts from {in_markdown(base.described)}.\n"
    if adapters and base.name_to_load is None:
        yield (
            f"These are adapters: in the code, replace BASE by a folder that holds their base "
            f"model, {in_markdown(base.described)}.\n"
        )
    name = base.name_to_load or '"BASE"'
    yield markdown.python(usage(source.config.policy, name if adapters else None, template))


def usage(policy: PolicyConfig, base: str | None, template: str) -> Sequence[str]:
    """Return Python that samples a reply as in training, to be run in the folder of the export.

    `base`: arguments that load the model below adapters; None if the export has all weights.
    `template`: the chat template; the code passes the variables that it uses.
    """
    system = [("system", policy.system_prompt)] if policy.system_prompt else []
    turns = [*system, ("user", EXAMPLE)]
    messages = [
        f'    {{"role": "{role}", "content": {literal(content)}}},' for role, content in turns
    ]
    variables = {"enable_thinking": repr(policy.thinking), "date_string": literal(DATE)}
    options = "".join(f", {key}={value}" for key, value in variables.items() if key in template)
    return [
        *_loading_lines(base),
        "messages = [",
        *messages,
        "]",
        "asked = tokenizer.apply_chat_template(",
        f'    messages, add_generation_prompt=True, return_tensors="pt", return_dict=True{options}',
        ")",
        f"drawn = model.generate(**asked{_sampling_options(policy) if base else ''})",
        'reply = drawn[0, asked["input_ids"].shape[1] :]',
        "print(tokenizer.decode(reply, skip_special_tokens=True))",
    ]


def _loading_lines(base: str | None) -> Sequence[str]:
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


def _sampling_options(policy: PolicyConfig) -> str:
    """Return the sampling options for adapters, whose base model has other defaults."""
    options = f"do_sample=True, temperature={policy.temperature!r}, top_k=0, top_p=1.0"
    return f", {options}, max_new_tokens={policy.max_turn_tokens}"
