/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * BLOOM.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadBloom(Config& c, Transformer& t, ModelSpec& model)
{
    t.hidden = c.Count(c.Either("hidden_size", "n_embed"), kMostHidden);
    t.layers = c.Count(c.Either("n_layer", "num_hidden_layers"), kMostLayers);
    t.heads = c.Count(c.Either("n_head", "num_attention_heads"), kMostHeads);
    t.kvHeads = t.heads;
    t.ffn = 4 * t.hidden;
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.tied = c.Flag("tie_word_embeddings", true);
    t.embeddingNorm = true;
    t.alibi = true;
    t.dropout = c.Positive("hidden_dropout", 0);
    model.sequence = c.Given("seq_length") ? c.Count("seq_length", kMostSequence) : 2048;
}

// clang-format off
const char* const kBloomZoo = R"zoo(
[
 {"name": "bloom-560m", "family": "BLOOM", "layers": 24, "hidden": 1024, "heads": 16, "vocab": 250880,
  "sequence": 2048, "embedding_norm": true, "alibi": true, "parameters_published": 559214592,
  "source": "bigscience/bloom-560m config.json (Hugging Face); count published there"},
 {"name": "bloom-1b1", "family": "BLOOM", "layers": 24, "hidden": 1536, "heads": 16, "vocab": 250880,
  "sequence": 2048, "embedding_norm": true, "alibi": true, "parameters_published": 1065314304,
  "source": "bigscience/bloom-1b1 config.json (Hugging Face); count published there"},
 {"name": "bloom-1b7", "family": "BLOOM", "layers": 24, "hidden": 2048, "heads": 16, "vocab": 250880,
  "sequence": 2048, "embedding_norm": true, "alibi": true, "parameters_published": 1722408960,
  "source": "bigscience/bloom-1b7 config.json (Hugging Face); count published there"},
 {"name": "bloom-3b", "family": "BLOOM", "layers": 30, "hidden": 2560, "heads": 32, "vocab": 250880,
  "sequence": 2048, "embedding_norm": true, "alibi": true, "parameters_published": 3002557440,
  "source": "bigscience/bloom-3b config.json (Hugging Face); count published there"},
 {"name": "bloom-7b1", "family": "BLOOM", "layers": 30, "hidden": 4096, "heads": 32, "vocab": 250880,
  "sequence": 2048, "embedding_norm": true, "alibi": true, "parameters_published": 7069016064,
  "source": "bigscience/bloom-7b1 config.json (Hugging Face); count published there"},
 {"name": "bloom-176b", "aliases": ["bloom"], "family": "BLOOM", "layers": 70, "hidden": 14336, "heads": 112,
  "vocab": 250880, "sequence": 2048, "embedding_norm": true, "alibi": true, "parameters_published": 176247271424,
  "source": "bigscience/bloom config.json (Hugging Face); count published there"},
 {"name": "bloom-182b", "family": "BLOOM", "layers": 78, "hidden": 13824, "heads": 96, "vocab": 250000,
  "sequence": 2048, "embedding_norm": true, "alibi": true,
  "source": "bigscience-workshop/bigscience train/tr11-176B-ml/chronicles-prequel.md (NHIDDEN=13824 / NLAYERS=78, 96 heads); vocabulary before padding: its rows in bloom_pretune.csv"}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
BloomFamily()
{
    return {{{"bloom", "Bloom", "BLOOM", ReadBloom, "n_head"}}, kBloomZoo};
}

} // namespace training
