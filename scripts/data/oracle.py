#!/usr/bin/env python3
"""Small random models with what PyTorch, transformers, tokenizers and gguf make of them.

Usage: oracle.py OUT_DIR (see `oracle` beside this file)

For each model: a folder as `transformers` saves it, a GGUF file as the `gguf` package writes it, and for each of the
two the logits of a few tokens, [token, vocabulary] in float32, from a pass in float64 through the weights as they are
stored. For each tokenizer: the ids of an awkward page. For each element type of GGUF: random blocks, and the values
that the `gguf` package finds in them.
"""

import json
import shutil
import sys
from pathlib import Path

import gguf
import numpy as np
import sentencepiece
import tokenizers
import torch
import transformers
from gguf import GGMLQuantizationType as Q
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers.tokenization_utils_base import generate_merges

PAGE = """  Two leading spaces, a\ttab,   three spaces.\r\n\r\nIt's WE'LL don't I'M they've; CAN'T!
1 22 333 4444 1,234,567.89 0x1F 3.14e-10 \u00bd \u00b2 \u2167 \u0663\u0664 \u0967\u0968
def f(x):\n    if x != 0:\n        return [x**2 for _ in range(10)]  # caf\u00e9 cafe\u0301 \u00c5 A\u030a \ufb01
\u6f22\u5b57\u3068\u304b\u306a\u30ab\u30ca\u3002 \ud55c\uad6d\uc5b4 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u0939\u093f\u0928\u094d\u0926\u0940 \u0420\u0443\u0441\u0441\u043a\u0438\u0439 \u03a9mega \u00df\u1e9e
\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f\u200a\u00a0nbsp\u00a0\u2003em \u201cquotes\u201d \u2014 dash\u2026
<s> </s> <|end|> <unk> http://example.org/?a=b&c=d%20e   \n\n\n   trailing \t \n"""

# Enough tokens that positions matter, and one of them twice.
TOKENS = [7, 301, 12, 45, 301, 99, 3, 250]
VOCABULARY = 320


def byte_level(kind):
    """A byte-level BPE of one of the kinds that GGUF names; the end token is the last one."""
    llama3 = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    qwen2 = llama3.replace("{1,3}", "")
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    split = lambda pattern: pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made = tokenizers.Tokenizer(models.BPE(ignore_merges=kind == "llama-bpe"))
    made.pre_tokenizer = {
        "gpt-2": lambda: level,
        "smollm": lambda: pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level]),
        "llama-bpe": lambda: split(llama3),
        "qwen2": lambda: split(qwen2),
    }[kind]()
    if kind == "qwen2":
        made.normalizer = normalizers.NFC()
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY - 1, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator([PAGE, PAGE.replace("\n", " ")], trainer)
    made.add_special_tokens([tokenizers.AddedToken("<|end|>", special=True, normalized=False)])
    assert made.get_vocab_size() == VOCABULARY
    if kind in ("llama-bpe", "gpt-2"):
        end = made.token_to_id("<|end|>")
        made.post_processor = processors.TemplateProcessing(
            single="<|end|> $A", pair="<|end|> $A <|end|> $B", special_tokens=[("<|end|>", end)]
        )
    return made


def pieces(folder):
    """A BPE of SentencePiece in the form of tokenizer.json, with its scores; both give the same ids."""
    text = folder / "text.txt"
    text.write_text(PAGE, encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(folder / "spm"), model_type="bpe", vocab_size=VOCABULARY + 80,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True,
        character_coverage=0.98, minloglevel=2,
    )
    source = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spm.model"))
    tokens = [source.id_to_piece(i) for i in range(source.get_piece_size())]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    kinds = [
        2 if source.is_unknown(i) else 3 if source.is_control(i) else 6 if source.is_byte(i) else 1
        for i in range(len(tokens))
    ]
    scores = {token: source.get_score(i) for token, i in vocabulary.items() if kinds[i] == 1}
    merges = generate_merges({token: vocabulary[token] for token in scores}, scores)
    made = tokenizers.Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    made.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    made.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    made.add_special_tokens(["<unk>", "<s>", "</s>"])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    made.encode_special_tokens = True
    ids = made.encode(PAGE, add_special_tokens=False).ids
    assert ids == source.encode(PAGE), "tokenizers and sentencepiece differ"
    return made, [source.get_score(i) for i in range(len(tokens))], kinds


def randomise(model, seed):
    """Weights about as large as in a trained model."""
    generator = torch.Generator().manual_seed(seed)
    for name, weight in model.named_parameters():
        if weight.dim() == 1:
            middle = 1.0 if name.endswith("weight") else 0.0
            values = middle + 0.3 * torch.randn(weight.shape, generator=generator)
        else:
            spread = 0.3 if "embed" in name or "wte" in name or "wpe" in name else 1.5 / weight.shape[-1] ** 0.5
            values = spread * torch.randn(weight.shape, generator=generator)
        weight.data.copy_(values)


def logits(model, path):
    model.eval()
    with torch.no_grad():
        found = model(input_ids=torch.tensor([TOKENS])).logits[0]
    assert torch.isfinite(found).all()
    np.save(path, found.numpy().astype("<f4"))


# Models: class, configuration, type of the stored weights, tokenizer, types of GGUF tensors.
BASE = dict(hidden_size=64, num_hidden_layers=2, max_position_embeddings=64, vocab_size=VOCABULARY)
CODES = [Q.Q4_0, Q.Q4_1, Q.Q5_0, Q.Q5_1, Q.Q8_0]
MODELS = {
    # Heads of 64 that do not divide the width, tied.
    "llama-tied": (
        transformers.LlamaForCausalLM,
        transformers.LlamaConfig(
            **BASE, intermediate_size=32, num_attention_heads=4, num_key_value_heads=4, head_dim=64,
            tie_word_embeddings=True, rms_norm_eps=1e-5, rope_parameters=dict(rope_type="default", rope_theta=1e4),
        ),
        torch.bfloat16, "smollm", CODES,
    ),
    # Llama 3: shared key heads, scaled, an output projection of its own, files in parts, K types.
    "llama-3": (
        transformers.LlamaForCausalLM,
        transformers.LlamaConfig(
            **{**BASE, "hidden_size": 96}, intermediate_size=256, num_attention_heads=6, num_key_value_heads=2,
            head_dim=32, tie_word_embeddings=False, rms_norm_eps=1e-6,
            rope_parameters=dict(
                rope_type="llama3", rope_theta=5e5, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                original_max_position_embeddings=32,
            ),
        ),
        torch.float16, "llama-bpe", [Q.Q4_0],
    ),
    # All biases, linear scaling, heads of 80, SentencePiece.
    "llama-biased": (
        transformers.LlamaForCausalLM,
        transformers.LlamaConfig(
            **{**BASE, "vocab_size": VOCABULARY + 80}, intermediate_size=64, num_attention_heads=4,
            num_key_value_heads=2, head_dim=80, tie_word_embeddings=True, rms_norm_eps=1e-5, attention_bias=True,
            mlp_bias=True, rope_parameters=dict(rope_type="linear", rope_theta=1e4, factor=4.0),
        ),
        torch.float16, "llama", [Q.Q4_0, Q.Q5_1],
    ),
    "qwen2": (
        transformers.Qwen2ForCausalLM,
        transformers.Qwen2Config(
            **{**BASE, "hidden_size": 72, "max_position_embeddings": 4096}, intermediate_size=32, num_attention_heads=9, num_key_value_heads=3, head_dim=16,
            tie_word_embeddings=True, rms_norm_eps=1e-6,
            rope_parameters=dict(
                rope_type="yarn", rope_theta=5e5, factor=4.0, original_max_position_embeddings=1024,
                beta_fast=8.0, beta_slow=1.0,
            ),
        ),
        torch.bfloat16, "qwen2", [Q.BF16],
    ),
    "gpt2": (
        transformers.GPT2LMHeadModel,
        transformers.GPT2Config(
            n_embd=64, n_layer=2, n_head=4, n_positions=32, n_inner=64, vocab_size=VOCABULARY, bos_token_id=319,
            eos_token_id=319,
        ),
        torch.float32, "gpt-2", [Q.F16, Q.Q8_0],
    ),
    "opt": (
        transformers.OPTForCausalLM,
        transformers.OPTConfig(
            hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=96, max_position_embeddings=32,
            vocab_size=VOCABULARY, word_embed_proj_dim=64, bos_token_id=319, eos_token_id=319, pad_token_id=1,
        ),
        torch.float16, "gpt-2", None,
    ),
    # GELU, an output projection of its own, no biases.
    "opt-gelu": (
        transformers.OPTForCausalLM,
        transformers.OPTConfig(
            hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, max_position_embeddings=16,
            vocab_size=VOCABULARY, word_embed_proj_dim=64, activation_function="gelu", enable_bias=False,
            tie_word_embeddings=False, bos_token_id=319, eos_token_id=319, pad_token_id=1,
        ),
        torch.bfloat16, "gpt-2", None,
    ),
}


def gguf_name(name):
    """The name of a tensor in GGUF."""
    for old, new in [
        ("model.embed_tokens.", "token_embd."), ("model.norm.", "output_norm."), ("lm_head.", "output."),
        ("transformer.wte.", "token_embd."), ("transformer.wpe.", "position_embd."),
        ("transformer.ln_f.", "output_norm."), ("model.layers.", "blk."), ("transformer.h.", "blk."),
        ("self_attn.q_proj", "attn_q"), ("self_attn.k_proj", "attn_k"), ("self_attn.v_proj", "attn_v"),
        ("self_attn.o_proj", "attn_output"), ("mlp.gate_proj", "ffn_gate"), ("mlp.up_proj", "ffn_up"),
        ("mlp.down_proj", "ffn_down"), ("input_layernorm", "attn_norm"), ("post_attention_layernorm", "ffn_norm"),
        ("ln_1", "attn_norm"), ("ln_2", "ffn_norm"), ("attn.c_attn", "attn_qkv"), ("attn.c_proj", "attn_output"),
        ("mlp.c_fc", "ffn_up"), ("mlp.c_proj", "ffn_down"),
    ]:
        name = name.replace(old, new)
    return name


def neighbours(values, heads):
    """Rows of Q or K so that elements that turn together are neighbours, as in GGUF files of Llama models."""
    shape = values.shape
    return values.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def random_blocks(kind, count, rng, scale=None):
    """Random bytes of a type; scales are any finite float16, or near `scale`."""
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    places = {Q.Q2_K: [80, 82], Q.Q3_K: [108], Q.Q4_K: [0, 2], Q.Q5_K: [0, 2], Q.Q6_K: [208]}
    for at in places.get(kind, [0, 2] if kind in (Q.Q4_1, Q.Q5_1) else [0]):
        if scale is None:
            halves = rng.integers(0, 0x7C00, count, dtype=np.uint16) | rng.integers(0, 2, count, dtype=np.uint16) << 15
        else:
            halves = (scale * rng.uniform(0.5, 1.5, count)).astype(np.float16).view(np.uint16)
        blocks[:, at : at + 2] = halves.astype("<u2").view(np.uint8).reshape(count, 2)
    return blocks


def write_gguf(path, name, config, model, tokenizer, scores, token_kinds, kinds):
    """Writes the model, with the weights as quantized, and puts these into `model`."""
    architecture = {"qwen2": "qwen2", "gpt2": "gpt2"}.get(name, "llama")
    writer = gguf.GGUFWriter(path, architecture)
    gpt = architecture == "gpt2"
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.n_inner if gpt else config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_file_type(1)
    if gpt:
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
    else:
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_vocab_size(config.vocab_size)
        rope = config.rope_parameters
        writer.add_rope_freq_base(rope["rope_theta"])
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        if width * config.num_attention_heads != config.hidden_size:
            writer.add_key_length(width)
            writer.add_value_length(width)
        writer.add_rope_dimension_count(width)
        if rope["rope_type"] == "linear":
            writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
            writer.add_rope_scaling_factor(rope["factor"])
        elif rope["rope_type"] == "yarn":
            writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
            writer.add_rope_scaling_factor(rope["factor"])
            writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
            writer.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
            writer.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
        elif rope["rope_type"] == "llama3":
            # Divisors of the frequencies, as llama.cpp's converter stores them.
            plain = 1.0 / rope["rope_theta"] ** (np.arange(0, width, 2) / width)
            scaled = model.model.rotary_emb.inv_freq.double().numpy()
            writer.add_tensor("rope_freqs.weight", (plain / scaled).astype(np.float32))
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda pair: pair[1])
    tokens = [token for token, _ in vocabulary]
    writer.add_tokenizer_model("gpt2" if scores is None else "llama")
    writer.add_token_list(tokens)
    if scores is None:
        writer.add_tokenizer_pre(MODELS[name][3])
        writer.add_token_types([3 if token == "<|end|>" else 1 for token in tokens])
        merges = json.loads(tokenizer.to_str())["model"]["merges"]
        writer.add_token_merges([" ".join(merge) for merge in merges])
        writer.add_bos_token_id(len(tokens) - 1)
        writer.add_eos_token_id(len(tokens) - 1)
        writer.add_add_bos_token(MODELS[name][3] in ("llama-bpe", "gpt-2"))
    else:
        writer.add_token_scores(scores)
        writer.add_token_types(token_kinds)
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_add_space_prefix(True)
    rng = np.random.default_rng(5)
    state, count = model.state_dict(), 0
    for key, weight in state.items():
        if key == "lm_head.weight" and config.tie_word_embeddings:
            continue
        values = weight.float().numpy()
        transposed = gpt and values.ndim == 2 and ".c_" in key
        if transposed:
            values = values.T
        heads = {"q_proj": config.num_attention_heads, "k_proj": getattr(config, "num_key_value_heads", 0)}
        heads = next((n for part, n in heads.items() if part in key), None) if architecture == "llama" else None
        if values.ndim == 1:
            kind, stored = Q.F32, values
        elif name == "llama-3" and "down_proj" in key:
            kind = [Q.Q4_K, Q.Q6_K][count % 2]
            count += 1
            blocks = random_blocks(kind, values.size // 256, rng, 0.0006 if kind == Q.Q4_K else 0.0001)
            stored = blocks.reshape(values.shape[0], -1)
            values = gguf.dequantize(stored, kind)
        else:
            kind = kinds[count % len(kinds)]
            count += 1
            # Rows that are no multiple of a block have no codes.
            if values.shape[1] % gguf.GGML_QUANT_SIZES[kind][0]:
                kind = Q.F16
            stored = gguf.quantize(values, kind)
            values = gguf.dequantize(stored, kind)
        weight.copy_(torch.from_numpy(values.T.copy() if transposed else values))
        if heads is not None:
            stored = neighbours(stored, heads)
        # The package takes shapes from arrays of floats, and bytes for all other types.
        raw = kind if stored.dtype == np.uint8 else None
        writer.add_tensor(gguf_name(key), np.ascontiguousarray(stored), raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_elements(path):
    """Random blocks of each type, and as F32 what the package finds in them."""
    rng = np.random.default_rng(7)
    writer = gguf.GGUFWriter(path, "elements")
    for kind in CODES + [Q.Q2_K, Q.Q3_K, Q.Q4_K, Q.Q5_K, Q.Q6_K]:
        blocks = random_blocks(kind, 512 // gguf.GGML_QUANT_SIZES[kind][0], rng)
        stored = blocks.reshape(2, -1)
        writer.add_tensor(kind.name, stored, raw_dtype=kind)
        writer.add_tensor(f"{kind.name}.f32", gguf.dequantize(stored, kind).astype(np.float32))
    half = rng.integers(0, 0x7C00, (2, 256), dtype=np.uint16).view(np.float16)
    writer.add_tensor("F16", half)
    writer.add_tensor("F16.f32", half.astype(np.float32))
    brain = gguf.quantize(rng.standard_normal((2, 256)).astype(np.float32), Q.BF16)
    writer.add_tensor("BF16", brain, raw_dtype=Q.BF16)
    writer.add_tensor("BF16.f32", gguf.dequantize(brain, Q.BF16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_model(out, number, name):
    kind, config, dtype, tokens, kinds = MODELS[name]
    folder = out / name
    folder.mkdir()
    model = kind(config)
    randomise(model, number)
    model = model.to(dtype)
    # Small parts for one of the models.
    model.save_pretrained(folder, max_shard_size="200KB" if name == "llama-3" else "1GB")
    scores = token_kinds = None
    if tokens == "llama":
        scratch = out / "scratch"
        scratch.mkdir()
        tokenizer, scores, token_kinds = pieces(scratch)
        shutil.rmtree(scratch)
    else:
        tokenizer = byte_level(tokens)
    tokenizer.encode_special_tokens = False
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    tokenizer.encode_special_tokens = True
    if name == "llama-biased":
        # The form of the versions before 5.
        path = folder / "config.json"
        saved = json.loads(path.read_text())
        rope = saved.pop("rope_parameters")
        saved |= {"rope_theta": rope["rope_theta"], "rope_scaling": {"type": "linear", "factor": rope["factor"]}}
        path.write_text(json.dumps(saved, indent=2) + "\n")
    ids = tokenizer.encode(PAGE, add_special_tokens=False).ids
    start = tokenizer.encode(PAGE, add_special_tokens=True).ids[: -len(ids)]
    (folder / "ids.json").write_text(json.dumps({"tokens": TOKENS, "start": start, "ids": ids}))
    model = kind.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager")
    logits(model, folder / "logits.npy")
    if kinds is not None:
        write_gguf(out / f"{name}.gguf", name, config, model, tokenizer, scores, token_kinds, kinds)
        logits(model, out / f"{name}.gguf.npy")


def main():
    out = Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    torch.set_num_threads(1)
    for number, name in enumerate(MODELS):
        write_model(out, number, name)
    write_elements(out / "elements.gguf")
    (out / "page.txt").write_bytes(PAGE.encode())
    print(f"{out}: {sum(path.stat().st_size for path in out.rglob('*') if path.is_file())} bytes")


if __name__ == "__main__":
    main()
