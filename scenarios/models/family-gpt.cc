/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * GPT-2 and GPT-3; in config.json also GPT-NeoX and OPT.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadGpt2(Config& c, Transformer& t, ModelSpec& model)
{
    t.hidden = c.Count("n_embd", kMostHidden);
    t.layers = c.Count("n_layer", kMostLayers);
    t.heads = c.Count("n_head", kMostHeads);
    t.kvHeads = t.heads;
    t.ffn = c.Count("n_inner", kMostFfn, 4 * t.hidden);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.positions = c.Count("n_positions", kMostSequence);
    t.tied = c.Flag("tie_word_embeddings", true);
    t.dropout = c.Positive("resid_pdrop", 0.1);
    model.sequence = t.positions;
}

void
ReadGptNeoX(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.ffn = c.Count("intermediate_size", kMostFfn);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.tied = c.Flag("tie_word_embeddings", false);
    t.dropout = c.Positive("hidden_dropout", 0);
    if (!c.Flag("attention_bias", true))
    {
        c.In().Fail("attention_bias", "is not known here; allowed: true");
    }
    model.sequence = TrainedSequence(c, 2048);
}

void
ReadOpt(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.ffn = c.Count("ffn_dim", kMostFfn);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    model.sequence = c.Count("max_position_embeddings", kMostSequence);
    t.positions = model.sequence + 2; // the library's table starts at the third row
    t.tied = c.Flag("tie_word_embeddings", true);
    t.bias = c.Flag("enable_bias", true);
    t.dropout = c.Positive("dropout", 0.1);
    t.finalNorm =
        c.Flag("do_layer_norm_before", true) && !c.Flag("_remove_final_layer_norm", false);
    if (c.Count("word_embed_proj_dim", kMostHidden, t.hidden) != t.hidden)
    {
        c.In().Fail("word_embed_proj_dim",
                    "other than hidden_size is not known here; allowed: " +
                        std::to_string(t.hidden));
    }
}

// clang-format off
const char* const kGptZoo = R"zoo(
[
 {"name": "gpt2", "aliases": ["gpt2-small", "gpt2-124m", "gpt2-117m"], "family": "GPT-2", "layers": 12,
  "hidden": 768, "heads": 12, "vocab": 50257, "positions": 1024, "sequence": 1024,
  "parameters_published": 124439808, "source": "gpt2 config.json (Hugging Face); count published there"},
 {"name": "gpt2-medium", "aliases": ["gpt2-355m", "gpt2-345m"], "family": "GPT-2", "layers": 24, "hidden": 1024,
  "heads": 16, "vocab": 50257, "positions": 1024, "sequence": 1024, "parameters_published": 354823168,
  "source": "gpt2-medium config.json (Hugging Face); count published there"},
 {"name": "gpt2-large", "aliases": ["gpt2-774m"], "family": "GPT-2", "layers": 36, "hidden": 1280, "heads": 20,
  "vocab": 50257, "positions": 1024, "sequence": 1024, "parameters_published": 774030080,
  "source": "gpt2-large config.json (Hugging Face); count published there"},
 {"name": "gpt2-xl", "aliases": ["gpt2-1.5b", "gpt2-1558m"], "family": "GPT-2", "layers": 48, "hidden": 1600,
  "heads": 25, "vocab": 50257, "positions": 1024, "sequence": 1024, "parameters_published": 1557611200,
  "source": "gpt2-xl config.json (Hugging Face); count published there"},
 {"name": "turing-nlg", "aliases": ["turing-nlg-17b", "t-nlg"], "family": "GPT-2", "layers": 78, "hidden": 4256,
  "heads": 28, "vocab": 50257, "positions": 1024, "sequence": 1024,
  "source": "Microsoft's description of T-NLG: 78 layers, hidden 4256, 28 heads; words and positions as GPT-2: assumed"},
 {"name": "gpt3-125m", "aliases": ["gpt3-small"], "family": "GPT-3", "layers": 12, "hidden": 768, "heads": 12,
  "vocab": 50257, "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1"},
 {"name": "gpt3-350m", "aliases": ["gpt3-medium"], "family": "GPT-3", "layers": 24, "hidden": 1024, "heads": 16,
  "vocab": 50257, "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1"},
 {"name": "gpt3-760m", "aliases": ["gpt3-large"], "family": "GPT-3", "layers": 24, "hidden": 1536, "heads": 16,
  "vocab": 50257, "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1"},
 {"name": "gpt3-1.3b", "aliases": ["gpt3-xl"], "family": "GPT-3", "layers": 24, "hidden": 2048, "heads": 16,
  "vocab": 50257, "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1",
  "note": "the table says 24 heads of 128, which is not 2048; 16 are taken"},
 {"name": "gpt3-2.7b", "family": "GPT-3", "layers": 32, "hidden": 2560, "heads": 32, "vocab": 50257,
  "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1"},
 {"name": "gpt3-6.7b", "family": "GPT-3", "layers": 32, "hidden": 4096, "heads": 32, "vocab": 50257,
  "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1"},
 {"name": "gpt3-13b", "family": "GPT-3", "layers": 40, "hidden": 5120, "heads": 40, "vocab": 50257,
  "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1",
  "note": "the table says 5140, which 40 heads of 128 contradict; 5120 is taken"},
 {"name": "gpt3-175b", "aliases": ["gpt3"], "family": "GPT-3", "layers": 96, "hidden": 12288, "heads": 96,
  "vocab": 50257, "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1"}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
GptFamily()
{
    return {{{"gpt2", "GPT2", "GPT-2", ReadGpt2, "n_head"},
             {"gpt_neox", "GPTNeoX", "GPT-NeoX", ReadGptNeoX},
             {"opt", "OPT", "OPT", ReadOpt}},
            kGptZoo};
}

} // namespace training
