"""A program that stands for `vllm serve --enable-lora`: `python lora_server.py FOLDER`.

transformers and peft behind vLLM's addresses, with several adapters beside one base; nothing of
harness is imported. What a request draws depends on its prompt, its seed and the named weights. It
prints its port, and every change of its adapters to the file `--log`.
"""

from __future__ import annotations

import argparse
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

BASE = "base"


class Refused(Exception):
    """What is answered instead, with its status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Weights:
    """A base and its adapters."""

    def __init__(self, folder: str, most_rank: int, log: Path | None) -> None:
        torch.set_num_threads(1)
        self._model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self._base, self._most_rank, self._log = self._model, most_rank, log
        self._lock = threading.Lock()
        self.names: list[str] = []
        self.inside: set[str] = set()
        """Adapters that requests wait for now."""

    def load(self, name: str, path: str) -> None:
        with self._lock:
            if name in self.names:
                raise Refused(400, f"The lora adapter '{name}' has already been loaded.")
            config = Path(path) / "adapter_config.json"
            if not config.is_file():
                raise Refused(404, f"The lora adapter '{name}' does not exist: {path}")
            rank = json.loads(config.read_text())["r"]
            if rank > self._most_rank:
                raise Refused(
                    400, f"LoRA rank {rank} is greater than max_lora_rank {self._most_rank}."
                )
            if self.names:
                self._model.load_adapter(path, adapter_name=name)
            else:
                self._model = PeftModel.from_pretrained(self._base, path, adapter_name=name).eval()
            self.names.append(name)
        self.tell("loaded", name)

    def unload(self, name: str) -> None:
        with self._lock:
            if name not in self.names:
                raise Refused(404, f"The lora adapter '{name}' cannot be found.")
            self.names.remove(name)
            if self.names:
                self._model.set_adapter(self.names[0])
                self._model.delete_adapter(name)
            else:
                self._base = self._model.unload()
                self._model = self._base
        self.tell("dropped", name)

    def draw(self, name: str, ask: dict[str, Any]) -> dict[str, Any]:
        with self._lock, torch.no_grad():
            if name == BASE and self.names:
                with self._model.disable_adapter():
                    return self._drawn(ask)
            if name != BASE and name not in self.names:
                raise Refused(404, f"The model `{name}` does not exist.")
            if name != BASE:
                self._model.set_adapter(name)
            return self._drawn(ask)

    def _drawn(self, ask: dict[str, Any]) -> dict[str, Any]:
        ids, drawn, logp = list(ask["prompt"]), list[int](), list[float]()
        dice = torch.Generator().manual_seed(ask.get("seed", 0))
        while len(drawn) < ask["max_tokens"] and not set(drawn) & set(
            ask.get("stop_token_ids", ())
        ):
            logits = self._model(torch.tensor([ids + drawn])).logits[0, -1]
            log_p = torch.log_softmax(logits / ask.get("temperature", 1.0), dim=-1)
            drawn.append(int(torch.multinomial(log_p.exp(), 1, generator=dice)))
            logp.append(float(log_p[drawn[-1]]))
        return {"token_ids": drawn, "logprobs": {"token_logprobs": logp}}

    def tell(self, what: str, name: str) -> None:
        if self._log is not None:
            with self._log.open("a") as log:
                print(json.dumps({"what": what, "name": name, "loaded": self.names}), file=log)


def handler(weights: Weights, options: argparse.Namespace) -> type[BaseHTTPRequestHandler]:
    has_drawn = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/v1/models":
                self._answer(200, {"data": [{"id": name} for name in [BASE, *weights.names]]})
            elif self.path == "/metrics":
                labels = f'max_lora="{options.max_loras}",running_lora_adapters="",waiting=""'
                there = has_drawn.is_set() and options.max_loras
                self._answer(
                    200, f"vllm:lora_requests_info{{{labels}}} 1.7e9\n" if there else "#\n"
                )
            else:
                self._answer(404, {"detail": "Not Found"})

        def do_POST(self) -> None:
            ask = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                self._answer(200, self._done(ask))
            except Refused as refused:
                self._answer(refused.status, {"error": {"message": str(refused)}})

        def _done(self, ask: dict[str, Any]) -> Any:
            if self.path == "/v1/completions":
                drawn = weights.draw(ask["model"], ask)
                has_drawn.set()
                return {"choices": [drawn]}
            change = re.fullmatch(r"/v1/(load|unload)_lora_adapter", self.path)
            if change is None or not options.max_loras:
                raise Refused(404, "Not Found")
            if "lora_name" not in ask:
                raise Refused(400, "Both 'lora_name' and 'lora_path' must be provided.")
            if change[1] == "load":
                weights.load(ask["lora_name"], ask["lora_path"])
            else:
                weights.unload(ask["lora_name"])
            return "Success"

        def _answer(self, status: int, values: Any) -> None:
            data = (values if isinstance(values, str) else json.dumps(values)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    return Handler


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    """Connections that may wait to be accepted. Of those that two runs make at once, a busy machine
    loses some where only 5 may, the default."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--max-loras", type=int, default=2, help="0: without --enable-lora")
    parser.add_argument("--max-lora-rank", type=int, default=16)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    weights = Weights(options.folder, options.max_lora_rank, options.log)
    at = ("127.0.0.1", options.port)
    with Server(at, handler(weights, options)) as server:
        print(server.server_port, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
