"""Initial model of a run without a model folder: a small Llama that reads characters.

Built from its configuration, seed and a vocabulary in this file: nothing is downloaded. It can be taught the form of an
answer, as pretraining does for a real model, but never which answer is right.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

PREFILL = "<answer>"
"""Text before each answer: one token, like the answer's end."""
VOCABULARY = ("<pad>", "<answer>", "</answer>", *"0123456789+-*/()=, ")
CONTEXT = 64
WIDTH, LAYERS, HEADS = 64, 2, 4
TEACHING_RATE, TEACHING_BATCH = 3e-3, 32
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer of one token per character; `</answer>` ends a text. Other characters become padding."""
    ids = {text: number for number, text in enumerate(VOCABULARY)}
    made = Tokenizer(models.WordLevel(ids, unk_token="<pad>"))
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    made.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        eos_token="</answer>",
        additional_special_tokens=["<answer>"],
        padding_side="left",
        model_max_length=CONTEXT,
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def make_model(seed: int) -> Any:
    """Return a model of 85,000 random weights. Its positions are relative: padding before a text changes nothing."""
    torch.manual_seed(seed)
    end = VOCABULARY.index("</answer>")
    config = LlamaConfig(
        vocab_size=len(VOCABULARY),
        max_position_embeddings=CONTEXT,
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config)


def prefill_of(folder: Path) -> str:
    """Return the text that answers of the model in `folder` begin with: PREFILL for the small model, else ""."""
    template = folder / "chat_template.jinja"
    is_tiny = template.is_file() and template.read_text() == TEMPLATE
    return PREFILL if is_tiny else ""


def teach_form(model: Any, tokenizer: Any, questions: Sequence[str], numbers: int, steps: int, seed: int) -> None:
    """Train the model, `steps` supervised steps, to answer questions in the form of an equation.

    Each answer is a random equation of `numbers` digits, unrelated to the question, so only the form is learned.
    """
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=TEACHING_RATE)
    for _ in range(steps):
        answers = [_equation(rng, numbers) for _ in range(TEACHING_BATCH)]
        asked = [rng.choice(questions) + PREFILL for _ in answers]
        texts = [question + answer for question, answer in zip(asked, answers, strict=True)]
        batch = tokenizer(texts, return_tensors="pt", padding=True, padding_side="left")
        logits = model(**batch).logits[:, :-1]
        wanted = batch["input_ids"][:, 1:]
        length = 2 * numbers  # numbers, operators between them, the end
        loss = cross_entropy(logits[:, -length:].reshape(-1, logits.shape[-1]), wanted[:, -length:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _equation(rng: random.Random, numbers: int) -> str:
    parts = [rng.choice("123456789")]
    for _ in range(numbers - 1):
        parts += [rng.choice("+-*"), rng.choice("123456789")]
    return "".join(parts) + "</answer>"
