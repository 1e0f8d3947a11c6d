"""Load an export in vLLM and in transformers, and say what each makes of a talk: `chat.py FOLDER`.

Nothing of harness is imported.
"""

import json
import os
import sys

os.environ |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
TOLD = [{"role": "user", "content": "It is about my exam."}]


def main(folder: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from vllm import LLM, SamplingParams

    llm = LLM(folder, enforce_eager=True, dtype="float32", max_model_len=512)
    drawn = llm.chat(TOLD, use_tqdm=False)[0]
    given = {"prompt_token_ids": drawn.prompt_token_ids}
    scored = SamplingParams(seed=1, max_tokens=12, logprobs=0, ignore_eos=True)
    one = llm.generate([given], scored, use_tqdm=False)[0].outputs[0]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    asked = tokenizer.apply_chat_template(TOLD, add_generation_prompt=True, return_dict=False)
    with torch.no_grad():
        logits = model(torch.tensor([[*asked, *one.token_ids]])).logits[0].float()
    like = logits.log_softmax(-1)[len(asked) - 1 :]
    by_vllm = [at[token].logprob for at, token in zip(one.logprobs, one.token_ids, strict=True)]
    apart = [abs(like[n, t] - by_vllm[n]) for n, t in enumerate(one.token_ids)]
    limit = llm.get_default_sampling_params().max_tokens
    told = {"same_prompt": asked == list(drawn.prompt_token_ids), "largest_gap": float(max(apart)),
            "tokens": len(drawn.outputs[0].token_ids), "limit": limit,
            "spread": float(like.std())}  # fmt: skip
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
