//! Configuration and names of tensors of a model that `transformers` saved: types llama, mistral, qwen2, gpt2, opt.

use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::arithmetic::Projection;
use super::config::{Activation, Config, Family, Positions};
use super::rotary::{Rotary, Scaling};
use super::tensors::{Layout, Names};
use crate::json::Keys;

/// Keys that change nothing that is computed here: training, bookkeeping, ids of tokens, other ways to choose a token.
const HARMLESS: [&str; 64] = [
    "_attn_implementation",
    "_commit_hash",
    "_name_or_path",
    "_num_labels",
    "activation_dropout",
    "architectures",
    "attention_dropout",
    "attn_pdrop",
    "bos_token_id",
    "chunk_size_feed_forward",
    "do_sample",
    "dropout",
    "dtype",
    "embd_pdrop",
    "eos_token_id",
    "gradient_checkpointing",
    "gradient_checkpointing_use_reentrant",
    "id2label",
    "init_std",
    "initializer_range",
    "is_llama_config",
    "label2id",
    "layerdrop",
    "max_length",
    "max_sequence_length",
    "max_window_layers",
    "min_length",
    "n_ctx",
    "neftune_noise_alpha",
    "num_beams",
    "num_labels",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "pad_token_id",
    "predict_special_tokens",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "reorder_and_upcast_attn",
    "repetition_penalty",
    "resid_pdrop",
    "return_dict",
    "sep_token_id",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "task_specific_params",
    "temperature",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "unk_token_id",
    "unsloth_fixed",
    "unsloth_version",
    "use_bfloat16",
    "use_cache",
    "use_return_dict",
];

/// Keys of variants that are not computed here, each with its value where a model is not of this variant.
fn plain() -> [(&'static str, Value); 6] {
    [
        ("is_encoder_decoder", json!(false)),
        ("n_special", json!(0)),
        ("pruned_heads", json!({})),
        ("qk_layer_norms", json!(false)),
        ("rope_interleaved", json!(false)),
        ("use_mrope", json!(false)),
    ]
}

/// Reads `config.json`; `tensors` are the names of the model's tensors.
pub(super) fn read(path: &Path, all: &Map<String, Value>, tensors: &[&str]) -> Result<(Config, Layout)> {
    let keys = Keys::new(path, "", all);
    let (config, layout) = match keys.needed("model_type", keys.text("model_type"))? {
        kind @ ("llama" | "mistral" | "qwen2") => llama(&keys, kind, tensors)?,
        "gpt2" => gpt2(&keys, tensors)?,
        "opt" => opt(&keys, tensors)?,
        other => {
            return Err(keys
                .bad(format!("a model of type `{other}`, wanted is llama, mistral, qwen2, gpt2 or opt"))
                .into());
        }
    };
    plain().iter().try_for_each(|(key, value)| keys.only(key, value))?;
    keys.finish(&HARMLESS)?;
    config.check().map_err(|e| keys.bad(e))?;
    Ok((config, layout))
}

fn share(keys: &Keys<'_>, width: usize, heads: usize) -> Result<usize> {
    if !width.is_multiple_of(heads) {
        return Err(keys.bad(format!("{heads} heads do not divide the width, {width}")).into());
    }
    Ok(width / heads)
}

/// What is ahead of all names of a model; models without a last product lack it.
fn prefix(tensors: &[&str], wanted: &'static str) -> &'static str {
    if tensors.iter().any(|name| name.starts_with(wanted)) { wanted } else { "" }
}

fn llama(keys: &Keys<'_>, kind: &str, tensors: &[&str]) -> Result<(Config, Layout)> {
    let count = |key: &str| keys.needed(key, keys.size(key));
    let (width, heads) = (count("hidden_size")?, count("num_attention_heads")?);
    let kv_heads = match keys.size("num_key_value_heads")? {
        None if kind == "llama" => heads,
        found => keys.needed("num_key_value_heads", Ok(found))?,
    };
    let head_width = match keys.size("head_dim")? {
        Some(found) => found,
        None => share(keys, width, heads)?,
    };
    match keys.needed("hidden_act", keys.text("hidden_act"))? {
        "silu" | "swish" => {}
        other => return Err(keys.bad(format!("`hidden_act` is `{other}`, wanted is silu")).into()),
    }
    if kind == "qwen2" {
        // Without use of a window its width does not matter.
        keys.only("use_sliding_window", &json!(false))?;
        keys.get("sliding_window");
    } else {
        keys.only("sliding_window", &Value::Null)?;
    }
    let layers = count("num_hidden_layers")?;
    if let Some(kinds) = keys.get("layer_types") {
        let full = kinds.as_array().is_some_and(|all| all.iter().all(|kind| kind == "full_attention"));
        if !full {
            return Err(keys.bad(format!("`layer_types` is {kinds}, wanted is full_attention in all layers")).into());
        }
    }
    let config = Config {
        family: Family::Llama,
        layers,
        width,
        ffn_width: count("intermediate_size")?,
        heads,
        kv_heads,
        head_width,
        positions: Positions::Rotary(rotary(keys)?),
        activation: Activation::Silu,
        norm_eps: keys.needed("rms_norm_eps", keys.float("rms_norm_eps"))?,
        vocabulary: count("vocab_size")?,
        context: count("max_position_embeddings")?,
    };
    let mut biases = Vec::new();
    use Projection::{Down, Gate, K, O, Q, Up, V};
    if kind == "qwen2" {
        biases.extend([Q, K, V]);
    } else {
        if keys.truth("attention_bias")?.unwrap_or(false) {
            biases.extend([Q, K, V, O]);
        }
        if keys.truth("mlp_bias")?.unwrap_or(false) {
            biases.extend([Gate, Up, Down]);
        }
    }
    let prefix = prefix(tensors, "model.");
    let names = Names {
        layer: format!("{prefix}layers."),
        joined: None,
        projections: &[
            (Q, "self_attn.q_proj"),
            (K, "self_attn.k_proj"),
            (V, "self_attn.v_proj"),
            (O, "self_attn.o_proj"),
            (Gate, "mlp.gate_proj"),
            (Up, "mlp.up_proj"),
            (Down, "mlp.down_proj"),
        ],
        norms: ["input_layernorm", "post_attention_layernorm"],
        output_norm: format!("{prefix}norm"),
        embedding: format!("{prefix}embed_tokens"),
        positions: String::new(),
        output: "lm_head".into(),
        divisors: None,
        derived: &["self_attn.rotary_emb.inv_freq"],
    };
    let tied = Some(keys.truth("tie_word_embeddings")?.unwrap_or(false));
    Ok((config, Layout { names, transposed: false, split_halves: true, tied, biases: Some(biases) }))
}

/// Base and scaling, in the form of version 5 (`rope_parameters`) or of the versions before it.
fn rotary(keys: &Keys<'_>) -> Result<Rotary> {
    let outer = keys.float("rope_theta")?;
    let (key, found) = match keys.object("rope_parameters")? {
        Some(found) => ("rope_parameters", Some(found)),
        None => ("rope_scaling", keys.object("rope_scaling")?),
    };
    // What transformers takes if a file has no base.
    let plain = 10_000.0;
    keys.only("partial_rotary_factor", &json!(1.0))?;
    let Some(found) = found else { return Ok(Rotary::plain(outer.unwrap_or(plain))) };
    let context = keys.size("max_position_embeddings")?;
    let keys = keys.inner(key, found);
    let base = keys.float("rope_theta")?.or(outer).unwrap_or(plain);
    keys.only("partial_rotary_factor", &json!(1.0))?;
    let kind = [keys.text("rope_type")?, keys.text("type")?].into_iter().flatten().next().unwrap_or("default");
    let float = |key: &str| keys.needed(key, keys.float(key));
    let scaling = match kind {
        "default" => Scaling::None,
        "linear" => Scaling::Linear { factor: float("factor")? },
        "llama3" => Scaling::Llama3 {
            factor: float("factor")?,
            low: float("low_freq_factor")?,
            high: float("high_freq_factor")?,
            original: float("original_max_position_embeddings")?,
        },
        "yarn" => {
            let factor = float("factor")?;
            let of = |share: f64| if factor > 1.0 { 0.1 * share * factor.ln() + 1.0 } else { 1.0 };
            let shares =
                keys.float("mscale")?.zip(keys.float("mscale_all_dim")?).filter(|&(a, b)| a != 0.0 && b != 0.0);
            let inferred = shares.map_or(Scaling::yarn_attention(factor), |(above, below)| of(above) / of(below));
            Scaling::Yarn {
                factor,
                fast: keys.float("beta_fast")?.unwrap_or(32.0),
                slow: keys.float("beta_slow")?.unwrap_or(1.0),
                // As in transformers: the context, where nothing says that it was a shorter one.
                original: match keys.float("original_max_position_embeddings")? {
                    Some(original) => original,
                    None => keys.needed("original_max_position_embeddings", Ok(context))? as f64,
                },
                attention: keys.float("attention_factor")?.unwrap_or(inferred),
                whole: keys.truth("truncate")?.unwrap_or(true),
            }
        }
        other => {
            let problem = format!("the scaling is `{other}`, wanted is default, linear, llama3 or yarn");
            return Err(keys.bad(problem).into());
        }
    };
    keys.finish(&[])?;
    Ok(Rotary { base, scaling })
}

fn activation(keys: &Keys<'_>) -> Result<Activation> {
    Ok(match keys.needed("activation_function", keys.text("activation_function"))? {
        "relu" => Activation::Relu,
        "gelu" => Activation::Gelu,
        "gelu_new" | "gelu_pytorch_tanh" => Activation::GeluTanh,
        other => {
            let problem =
                format!("`activation_function` is `{other}`, wanted is relu, gelu, gelu_new or gelu_pytorch_tanh");
            return Err(keys.bad(problem).into());
        }
    })
}

fn gpt2(keys: &Keys<'_>, tensors: &[&str]) -> Result<(Config, Layout)> {
    let count = |key: &str| keys.needed(key, keys.size(key));
    let (width, heads) = (count("n_embd")?, count("n_head")?);
    keys.only("scale_attn_weights", &json!(true))?;
    keys.only("scale_attn_by_inverse_layer_idx", &json!(false))?;
    keys.only("add_cross_attention", &json!(false))?;
    let config = Config {
        family: Family::Gpt,
        layers: count("n_layer")?,
        width,
        ffn_width: keys.size("n_inner")?.unwrap_or(width.saturating_mul(4)),
        heads,
        kv_heads: heads,
        head_width: share(keys, width, heads)?,
        positions: Positions::Learned { offset: 0 },
        activation: activation(keys)?,
        norm_eps: keys.needed("layer_norm_epsilon", keys.float("layer_norm_epsilon"))?,
        vocabulary: count("vocab_size")?,
        context: count("n_positions")?,
    };
    let prefix = prefix(tensors, "transformer.");
    let projections: &[(Projection, &str)] =
        &[(Projection::O, "attn.c_proj"), (Projection::Up, "mlp.c_fc"), (Projection::Down, "mlp.c_proj")];
    let names = Names {
        layer: format!("{prefix}h."),
        joined: Some("attn.c_attn"),
        projections,
        norms: ["ln_1", "ln_2"],
        output_norm: format!("{prefix}ln_f"),
        embedding: format!("{prefix}wte"),
        positions: format!("{prefix}wpe"),
        output: "lm_head".into(),
        divisors: None,
        derived: &["attn.bias", "attn.masked_bias"],
    };
    let tied = Some(keys.truth("tie_word_embeddings")?.unwrap_or(true));
    let biases = Some(projections.iter().map(|&(projection, _)| projection).collect());
    Ok((config, Layout { names, transposed: true, split_halves: false, tied, biases }))
}

fn opt(keys: &Keys<'_>, tensors: &[&str]) -> Result<(Config, Layout)> {
    let count = |key: &str| keys.needed(key, keys.size(key));
    let (width, heads) = (count("hidden_size")?, count("num_attention_heads")?);
    for (key, wanted) in [
        ("do_layer_norm_before", json!(true)),
        ("_remove_final_layer_norm", json!(false)),
        ("layer_norm_elementwise_affine", json!(true)),
        ("word_embed_proj_dim", json!(width)),
    ] {
        keys.only(key, &wanted)?;
    }
    let config = Config {
        family: Family::Gpt,
        layers: count("num_hidden_layers")?,
        width,
        ffn_width: count("ffn_dim")?,
        heads,
        kv_heads: heads,
        head_width: share(keys, width, heads)?,
        positions: Positions::Learned { offset: 2 },
        activation: activation(keys)?,
        // OPT has no key for it: it is the default of PyTorch's `LayerNorm`.
        norm_eps: 1e-5,
        vocabulary: count("vocab_size")?,
        context: count("max_position_embeddings")?,
    };
    use Projection::{Down, K, O, Q, Up, V};
    let with = keys.truth("enable_bias")?.unwrap_or(true);
    let prefix = if prefix(tensors, "model.").is_empty() { "decoder." } else { "model.decoder." };
    let names = Names {
        layer: format!("{prefix}layers."),
        joined: None,
        projections: &[
            (Q, "self_attn.q_proj"),
            (K, "self_attn.k_proj"),
            (V, "self_attn.v_proj"),
            (O, "self_attn.out_proj"),
            (Up, "fc1"),
            (Down, "fc2"),
        ],
        norms: ["self_attn_layer_norm", "final_layer_norm"],
        output_norm: format!("{prefix}final_layer_norm"),
        embedding: format!("{prefix}embed_tokens"),
        positions: format!("{prefix}embed_positions"),
        output: "lm_head".into(),
        divisors: None,
        derived: &[],
    };
    let tied = Some(keys.truth("tie_word_embeddings")?.unwrap_or(true));
    let biases = if with { vec![Q, K, V, O, Up, Down] } else { Vec::new() };
    Ok((config, Layout { names, transposed: false, split_halves: false, tied, biases: Some(biases) }))
}
