/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Phi. Phi-2 has attention and MLP side by side behind one norm (PhiDecoderLayer of
 * huggingface/transformers src/transformers/models/phi/modeling_phi.py); Phi-3 and Phi-4 are built
 * as Llama, Phi-3.5-MoE as Mixtral with norms that have an offset
 * (src/transformers/models/phimoe/configuration_phimoe.py).
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadPhi(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.kvHeads = c.Count("num_key_value_heads", kMostHeads, t.heads);
    t.ffn = c.Count("intermediate_size", kMostFfn);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.tied = c.Flag("tie_word_embeddings", false);
    t.dropout = c.Positive("resid_pdrop", 0);
    t.oneNorm = true;
    t.headBias = true;
    c.MustBeOff("qk_layernorm");
    model.sequence = TrainedSequence(c, 2048);
}

/// Longer versions say at the top how long sequences were before.
void
TakeOriginalSequence(Config& c, ModelSpec& model)
{
    if (c.Given("original_max_position_embeddings"))
    {
        model.sequence = c.Count("original_max_position_embeddings", kMostSequence);
    }
}

void
ReadPhi3(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.window = c.Count("sliding_window", kMostSequence, 0);
    TakeOriginalSequence(c, model);
}

void
ReadPhiMoe(Config& c, Transformer& t, ModelSpec& model)
{
    ReadLlama(c, t, model);
    t.rms = false;
    t.window = c.Count("sliding_window", kMostSequence, 0);
    t.headBias = c.Flag("lm_head_bias", false);
    t.experts.count = c.Count("num_local_experts", kMostHeads, 16);
    t.experts.topK = c.Count("num_experts_per_tok", kMostHeads, 2);
    t.experts.ffn = t.ffn;
    TakeOriginalSequence(c, model);
}

// clang-format off
const char* const kPhiZoo = R"zoo(
[
 {"name": "phi-2", "sequence": 2048, "parameters_published": 2779683840,
  "source": "microsoft/phi-2 config.json (Hugging Face); count published there", "config": {
  "model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32,
  "num_attention_heads": 32, "vocab_size": 51200, "max_position_embeddings": 2048, "resid_pdrop": 0.1}},
 {"name": "phi-3-mini", "aliases": ["phi-3-mini-4k", "phi-3.5-mini"], "sequence": 4096,
  "parameters_published": 3821079552,
  "source": "microsoft/Phi-3-mini-4k-instruct config.json (Hugging Face); count published there", "config": {
  "model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32064, "tie_word_embeddings": false,
  "sliding_window": 2047}},
 {"name": "phi-3-medium", "aliases": ["phi-3-medium-4k"], "sequence": 4096,
  "parameters_published": 13960238080,
  "source": "microsoft/Phi-3-medium-4k-instruct config.json (Hugging Face); count published there",
  "config": {"model_type": "phi3", "hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40,
  "num_attention_heads": 40, "num_key_value_heads": 10, "vocab_size": 32064, "tie_word_embeddings": false,
  "sliding_window": 2047}},
 {"name": "phi-3.5-moe", "sequence": 4096,
  "source": "microsoft/Phi-3.5-MoE-instruct config.json (Hugging Face); sequence: its original_max_position_embeddings",
  "config": {"model_type": "phimoe", "hidden_size": 4096, "intermediate_size": 6400, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32064, "tie_word_embeddings": false,
  "attention_bias": true, "lm_head_bias": true, "num_local_experts": 16, "num_experts_per_tok": 2}},
 {"name": "phi-4-mini", "sequence": 4096, "parameters_published": 3836021760,
  "source": "microsoft/Phi-4-mini-instruct config.json (Hugging Face); count published there; sequence: its original_max_position_embeddings",
  "config": {"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
  "num_attention_heads": 24, "num_key_value_heads": 8, "vocab_size": 200064, "tie_word_embeddings": true,
  "sliding_window": 262144}},
 {"name": "phi-4", "aliases": ["phi-4-14b"], "sequence": 4096, "parameters_published": 14659507200,
  "source": "microsoft/phi-4 config.json (Hugging Face); count published there; sequence of pre-training: arXiv 2412.08905, section 3",
  "config": {"model_type": "phi3", "hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40,
  "num_attention_heads": 40, "num_key_value_heads": 10, "vocab_size": 100352, "tie_word_embeddings": false,
  "sliding_window": null}}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
PhiFamily()
{
    return {{{"phi", "Phi", "Phi", ReadPhi},
             {"phi3", "Phi3", "Phi", ReadPhi3},
             {"phimoe", "PhiMoE", "Phi", ReadPhiMoe}},
            kPhiZoo};
}

} // namespace training
