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

const RegisteredFamily g_bert({"bert", {{"bert", "Bert", "BERT", ReadBert}}});

} // namespace

} // namespace training
