/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * BERT.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadBert(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.ffn = c.Count("intermediate_size", kMostFfn);
    t.vocabulary = c.Count("vocab_size", kMostWords);
    t.positions = c.Count("max_position_embeddings", kMostSequence);
    t.tokenTypes = c.Count("type_vocab_size", kMostHeads, 2, 0);
    t.dropout = c.Positive("hidden_dropout_prob", 0.1);
    t.embeddingNorm = true;
    t.finalNorm = false;
    t.causal = false;
    t.head = false;
    t.maskedHead = c.IsFor("ForMaskedLM") || c.IsFor("ForPreTraining");
    t.pooler = !c.IsFor("ForMaskedLM");
    if (c.Given("architectures") && !t.maskedHead && !c.IsFor("BertModel"))
    {
        c.In().Fail("architectures",
                    "has a head that is not known here; allowed: [\"BertModel\"], "
                    "[\"BertForMaskedLM\"] and [\"BertForPreTraining\"]");
    }
    model.sequence = t.positions;
}

// clang-format off
const char* const kBertZoo = R"zoo(
[
 {"name": "bert-base", "aliases": ["bert-base-uncased"], "family": "BERT", "lm_head": false,
  "parameters_published": 109482240, "source": "bert-base-uncased config.json (Hugging Face); with the pooler",
  "layers": 12, "hidden": 768, "heads": 12, "vocab": 30522, "positions": 512, "token_types": 2, "sequence": 512,
  "embedding_norm": true, "final_norm": false, "pooler": true},
 {"name": "bert-base-pretraining", "aliases": ["bert-base-mlm"], "family": "BERT", "masked_lm_head": true,
  "source": "bert-base-uncased config.json (Hugging Face), BertForPreTraining", "layers": 12, "hidden": 768,
  "heads": 12, "vocab": 30522, "positions": 512, "token_types": 2, "sequence": 512, "embedding_norm": true,
  "final_norm": false, "pooler": true},
 {"name": "bert-large", "aliases": ["bert-large-uncased"], "family": "BERT", "lm_head": false,
  "parameters_published": 335141888, "source": "bert-large-uncased config.json (Hugging Face); with the pooler",
  "layers": 24, "hidden": 1024, "heads": 16, "vocab": 30522, "positions": 512, "token_types": 2, "sequence": 512,
  "embedding_norm": true, "final_norm": false, "pooler": true},
 {"name": "bert-large-pretraining", "aliases": ["bert-large-mlm"], "family": "BERT", "masked_lm_head": true,
  "parameters_published": 336226108, "source": "bert-large-uncased config.json (Hugging Face), BertForPreTraining",
  "layers": 24, "hidden": 1024, "heads": 16, "vocab": 30522, "positions": 512, "token_types": 2, "sequence": 512,
  "embedding_norm": true, "final_norm": false, "pooler": true}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
BertFamily()
{
    return {{{"bert", "Bert", "BERT", ReadBert}}, kBertZoo};
}

} // namespace training
