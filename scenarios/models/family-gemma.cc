/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Gemma 3 (Gemma3TextConfig of huggingface/transformers
 * src/transformers/models/gemma3/configuration_gemma3.py, whose defaults the published files leave
 * out): five of six blocks have a window, and norms stand ahead of attention and MLP and behind
 * them. Of pictures nothing is read.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadGemma3(Config& c, Transformer& t, ModelSpec& model)
{
    t.hidden = c.Count("hidden_size", kMostHidden, 2304);
    t.layers = c.Count("num_hidden_layers", kMostLayers, 26);
    t.heads = c.Count("num_attention_heads", kMostHeads, 8);
    t.kvHeads = c.Count("num_key_value_heads", kMostHeads, 4);
    t.headSize = c.Count("head_dim", kMostHeads, 256);
    t.ffn = c.Count("intermediate_size", kMostFfn, 9216);
    t.vocabulary = c.Count("vocab_size", kMostWords, 262208);
    t.tied = c.Flag("tie_word_embeddings", true);
    t.gated = true;
    t.rms = true;
    t.bias = false;
    t.dropout = c.Positive("attention_dropout", 0);
    t.qkvBias = t.outputBias = c.Flag("attention_bias", false);
    t.keyNorm = KeyNorm::kHead;
    t.postNorms = true;
    model.sequence = TrainedSequence(c, 131072);
    const uint32_t window = c.Count("sliding_window", kMostSequence, 4096);
    if (ReadLayerTypes(c, t, "sliding_attention", window))
    {
        return;
    }
    const uint32_t pattern =
        c.Count(c.Either("sliding_window_pattern", "_sliding_window_pattern"), kMostLayers, 6);
    std::vector<BlockShape>& blocks = EachBlock(t);
    for (uint32_t i = 0; i < t.layers; ++i)
    {
        blocks[i].window = (i + 1) % pattern == 0 ? 0 : window;
    }
}

// clang-format off
const char* const kGemmaZoo = R"zoo(
[
 {"name": "gemma3-270m", "sequence": 32768, "source": "google/gemma-3-270m config.json (Hugging Face)",
  "config": {"model_type": "gemma3_text", "hidden_size": 640, "intermediate_size": 2048,
  "num_hidden_layers": 18, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
  "vocab_size": 262144, "sliding_window": 512, "sliding_window_pattern": 6}},
 {"name": "gemma3-1b", "sequence": 32768, "parameters_published": 999885952,
  "source": "google/gemma-3-1b-pt config.json (Hugging Face); count published there; sequence of pre-training: arXiv 2503.19786, section 2",
  "config": {"model_type": "gemma3_text", "hidden_size": 1152, "intermediate_size": 6912,
  "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
  "vocab_size": 262144, "sliding_window": 512, "sliding_window_pattern": 6}},
 {"name": "gemma3-4b", "sequence": 32768,
  "source": "google/gemma-3-4b-pt config.json (Hugging Face); without the pictures' encoder; sequence of pre-training: arXiv 2503.19786, section 2",
  "config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
  "num_hidden_layers": 34, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
  "vocab_size": 262208, "sliding_window": 1024, "sliding_window_pattern": 6}},
 {"name": "gemma3-12b", "sequence": 32768,
  "source": "google/gemma-3-12b-pt config.json (Hugging Face); without the pictures' encoder; sequence of pre-training: arXiv 2503.19786, section 2",
  "config": {"model_type": "gemma3_text", "hidden_size": 3840, "intermediate_size": 15360,
  "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256,
  "vocab_size": 262208, "sliding_window": 1024, "sliding_window_pattern": 6}},
 {"name": "gemma3-27b", "sequence": 32768,
  "source": "google/gemma-3-27b-pt config.json (Hugging Face); without the pictures' encoder; sequence of pre-training: arXiv 2503.19786, section 2",
  "config": {"model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504,
  "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128,
  "vocab_size": 262208, "sliding_window": 1024, "sliding_window_pattern": 6}}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
GemmaFamily()
{
    return {{{"gemma3", "Gemma3", "Gemma", ReadGemma3, "num_attention_heads", true},
             {"gemma3_text", "Gemma3Text", "Gemma", ReadGemma3}},
            kGemmaZoo};
}

} // namespace training
