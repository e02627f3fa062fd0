/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A transformer in a user's JSON, by its shape:
 *
 *   {"name": "my-gpt", "layers": 24, "hidden": 1024, "heads": 16, "vocab": 50257, "sequence": 1024}
 *
 * Optional, with what holds without them:
 *
 *   kv_heads           as many as heads
 *   head_size          hidden / heads
 *   ffn                4 hidden; the width of the MLP
 *   gated_mlp          false; three matrices in the MLP instead of two
 *   norm               "layer", or "rms": no offsets
 *   bias               true: linear layers have one
 *   qkv_bias           false; attention's projections have one, whatever bias says
 *   output_bias        false; and the projection of its output
 *   dropout            true
 *   positions          0; learned position embeddings
 *   relative_positions 0; T5's: buckets with a number a head
 *   token_types        0; BERT's segments
 *   embedding_norm, final_norm      false, true
 *   tied_embeddings, lm_head        true, true
 *   pooler, masked_lm_head          false; BERT's heads
 *   causal             true, without BERT's heads: tokens see only those before them
 *   experts            {"count": 8, "top_k": 2, "ffn": 14336}, and if some see every token
 *                      "shared_ffn" (their width together), "dense_first" (0; blocks that have an
 *                      MLP instead), "router_bias" (false)
 *   latent_attention   {"kv_rank": 512, "query_rank": 1536, "plain": 128, "rotary": 64,
 *                      "value": 128}; without query_rank queries are projected at once
 *   qk_norm            false; norms of queries and keys, a scale of head_size each
 *   sinks              false; a learned score a head beside those of the keys
 *   sliding_window     0, all; keys that a token sees at most
 *   full_every         0, none; with a window, each so-many-th block sees all keys
 *   mtp                false; has a module for multi-token prediction, as DeepSeek-V3 (--mtp)
 *   encoder_layers     0; blocks of an encoder, whose output those of "layers" attend to
 *   target_sequence    sequence; the decoder's tokens where the encoder has "sequence" (with
 *                      another sequence in proportion)
 *   image, patch       pictures cut into patches (ViT), with "channels" (3) and "classes" (1000)
 *                      instead of vocab and sequence
 */
#include "scenarios/models/model-forms.h"
#include "scenarios/models/transformer-shape.h"

namespace training
{

namespace
{

/// \return whether it is known which blocks have experts
bool
ReadExperts(topo::JsonObject& in, uint32_t layers, ExpertsShape& experts)
{
    if (!in.Has("experts"))
    {
        return true;
    }
    topo::JsonObject e = in.Inner(in.At("experts"), "experts");
    e.Whole("count", experts.count, 1, 1 << 16, topo::Need::kRequired);
    e.Whole("top_k", experts.topK, 1, 1 << 16, topo::Need::kRequired);
    e.Whole("ffn", experts.ffn, 1, 1 << 24, topo::Need::kRequired);
    e.Whole("shared_ffn", experts.sharedFfn, 0, 1 << 24);
    const bool known =
        !e.Has("dense_first") || e.Whole("dense_first", experts.denseFirst, 0, 10000);
    e.Flag("router_bias", experts.routerBias);
    if (experts.topK > experts.count && experts.count > 0)
    {
        e.Fail("top_k", "is more than count, " + std::to_string(experts.count));
    }
    if (experts.denseFirst >= layers && layers > 0)
    {
        e.Fail("dense_first",
               "leaves no experts in the " + std::to_string(layers) + " layers; allowed: 0 to " +
                   std::to_string(layers - 1));
    }
    e.Finish();
    return known;
}

void
ReadLatent(topo::JsonObject& in, LatentShape& latent)
{
    if (!in.Has("latent_attention"))
    {
        return;
    }
    topo::JsonObject l = in.Inner(in.At("latent_attention"), "latent_attention");
    l.Whole("kv_rank", latent.kvRank, 1, 1 << 20, topo::Need::kRequired);
    l.Whole("query_rank", latent.queryRank, 1, 1 << 20);
    l.Whole("plain", latent.plain, 1, 1 << 16, topo::Need::kRequired);
    l.Whole("rotary", latent.rotary, 0, 1 << 16, topo::Need::kRequired);
    l.Whole("value", latent.value, 1, 1 << 16, topo::Need::kRequired);
    l.Finish();
}

void
ReadPatches(topo::JsonObject& in, PatchShape& patches)
{
    in.Whole("image", patches.image, 1, 1 << 14, topo::Need::kRequired);
    in.Whole("patch", patches.patch, 1, 1 << 14, topo::Need::kRequired);
    in.Whole("channels", patches.channels, 1, 1 << 14);
    in.Whole("classes", patches.classes, 1, 1 << 26);
    if (patches.patch > 0 && patches.image % patches.patch != 0)
    {
        in.Fail("patch", "does not divide image, " + std::to_string(patches.image));
    }
}

/// What later decoders have: norms of queries and keys, sinks, windows, multi-token prediction.
void
ReadDecoder(topo::JsonObject& in, Transformer& t)
{
    bool keyNorm = false;
    in.Flag("qk_norm", keyNorm);
    t.keyNorm = keyNorm ? KeyNorm::kHead : KeyNorm::kNone;
    in.Flag("sinks", t.sinks);
    in.Flag("mtp", t.predictor);
    in.Whole("sliding_window", t.window, 0, 1 << 24);
    uint32_t every = 0;
    in.Whole("full_every", every, 0, 10000);
    if (every > 0 && t.window == 0)
    {
        in.Fail("full_every", "has no meaning without sliding_window");
    }
    for (const char* key : {"qk_norm", "sinks", "mtp", "sliding_window"})
    {
        if (in.Has(key) && (t.encoderLayers > 0 || !t.head || t.pooler || t.maskedHead))
        {
            in.Fail(key, "is only for decoders with a head for the next word");
        }
    }
    for (uint32_t i = 0; every > 0 && i < t.layers; ++i)
    {
        BlockShape shape;
        shape.feed = t.experts.count > 0 && i >= t.experts.denseFirst ? Feed::kExperts : Feed::kMlp;
        shape.window = (i + 1) % every == 0 ? 0 : t.window;
        t.blocks.push_back(shape);
    }
}

/// How far heads, their sizes and key-value heads fit each other.
bool
ReadHeads(topo::JsonObject& in, Transformer& t)
{
    t.kvHeads = t.heads;
    in.Whole("kv_heads", t.kvHeads, 1, 1 << 16);
    t.headSize = t.hidden / t.heads;
    in.Whole("head_size", t.headSize, 1, 1 << 16);
    if (!in.Has("head_size") && t.latent.kvRank == 0 && t.hidden % t.heads != 0)
    {
        in.Fail("heads", "does not divide hidden, " + std::to_string(t.hidden));
        return false;
    }
    if (t.latent.kvRank > 0)
    {
        for (const char* key : {"head_size", "kv_heads"})
        {
            if (in.Has(key))
            {
                in.Fail(key, "has no meaning beside latent_attention, which says it");
                return false;
            }
        }
        t.headSize = t.latent.plain + t.latent.rotary;
    }
    if (t.heads % t.kvHeads != 0)
    {
        in.Fail("kv_heads", "does not divide heads, " + std::to_string(t.heads));
        return false;
    }
    return true;
}

void
ReadFlags(topo::JsonObject& in, Transformer& t)
{
    in.Flag("gated_mlp", t.gated);
    std::string norm = "layer";
    in.Text("norm", norm);
    if (norm != "layer" && norm != "rms")
    {
        in.Fail("norm", "is not layer or rms");
    }
    t.rms = norm == "rms";
    in.Flag("bias", t.bias);
    in.Flag("qkv_bias", t.qkvBias);
    in.Flag("output_bias", t.outputBias);
    in.Flag("dropout", t.dropout);
    in.Flag("final_norm", t.finalNorm);
}

} // namespace

void
BuildTransformer(ModelSpec& model, topo::JsonObject& in)
{
    Transformer t;
    const bool pictures = in.Has("patch");
    in.Whole("layers", t.layers, 1, 10000, topo::Need::kRequired);
    in.Whole("hidden", t.hidden, 1, 1 << 20, topo::Need::kRequired);
    in.Whole("heads", t.heads, 1, 1 << 16, topo::Need::kRequired);
    t.ffn = 4 * t.hidden;
    in.Whole("ffn", t.ffn, 1, 1 << 24);
    ReadFlags(in, t);
    ReadLatent(in, t.latent);
    model.hasSequence = !pictures;
    model.sequence = 1;
    if (pictures)
    {
        ReadPatches(in, t.patches);
        t.causal = false;
    }
    else
    {
        in.Whole("vocab", t.vocabulary, 1, 1 << 26, topo::Need::kRequired);
        in.Whole("positions", t.positions, 0, 1 << 26);
        in.Whole("relative_positions", t.relativePositions, 0, 1 << 16);
        in.Whole("token_types", t.tokenTypes, 0, 1 << 16);
        in.Flag("alibi", t.alibi);
        in.Flag("tied_embeddings", t.tied);
        in.Flag("embedding_norm", t.embeddingNorm);
        in.Flag("lm_head", t.head);
        in.Flag("pooler", t.pooler);
        in.Flag("masked_lm_head", t.maskedHead);
        t.causal = !t.pooler && !t.maskedHead;
        in.Flag("causal", t.causal);
        const bool known = ReadExperts(in, t.layers, t.experts);
        if (known && t.experts.count > 0 && t.experts.denseFirst == 0)
        {
            t.ffn = t.experts.ffn;
            if (in.Has("ffn"))
            {
                in.Fail("ffn", "has no meaning where every block has experts, whose ffn says it");
            }
        }
        model.sequence = 2048;
        in.Whole("sequence", model.sequence, 1, 1 << 24);
        in.Whole("encoder_layers", t.encoderLayers, 0, 10000);
        uint32_t target = model.sequence;
        if (t.encoderLayers > 0)
        {
            in.Whole("target_sequence", target, 1, 1 << 24);
        }
        t.targetShare = static_cast<double>(target) / model.sequence;
        if (t.encoderLayers > 0 && (t.experts.count > 0 || t.latent.kvRank > 0))
        {
            in.Fail("encoder_layers",
                    "does not go with experts or latent_attention; allowed: 0, or without these");
        }
        ReadDecoder(in, t);
    }
    if (t.layers == 0 || t.hidden == 0 || t.heads == 0 ||
        (pictures ? t.patches.patch == 0 || t.patches.image % t.patches.patch != 0
                  : t.vocabulary == 0) ||
        (t.latent.kvRank > 0 && t.latent.value == 0))
    {
        // There is an error already: those of heads would only follow from it.
        in.Has("kv_heads");
        in.Has("head_size");
        return;
    }
    if (!ReadHeads(in, t))
    {
        return;
    }
    t.latentRank = t.latent.kvRank;
    t.latentRotary = t.latent.rotary;
    model.transformer = static_cast<const TransformerShape&>(t);
    AddTransformerLayers(model, t);
}

} // namespace training
