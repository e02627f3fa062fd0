/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From the JSON of a model to its layers. Three forms, told apart by their members:
 *
 *   transformer  "hidden" is there: shapes in the words of Hugging Face's configs
 *   operators    "image" is there: convolutions and the like; parameters and FLOPs follow
 *   list         "layers" is a list with parameters and FLOPs given
 */
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/models/model-zoo.h"
#include "scenarios/models/zoo-json.h"

#include <set>

namespace training
{

namespace
{

constexpr uint64_t kMost = 1ULL << 40;

struct Transformer
{
    uint32_t layers = 0;
    uint32_t hidden = 0;
    uint32_t heads = 0;
    uint32_t kvHeads = 0; ///< absent: as many as heads
    uint32_t ffn = 0;     ///< absent: 4 x hidden
    uint32_t vocabulary = 0;
    uint32_t positions = 0;  ///< learned position embeddings
    uint32_t tokenTypes = 0; ///< BERT's segment embeddings
    bool tied = true;        ///< the head uses the embedding's matrix
    bool gated = false;      ///< three matrices in the MLP instead of two
    bool rms = false;        ///< norms without an offset
    bool bias = true;        ///< linear layers have one
    bool dropout = true;
    bool embeddingNorm = false;
    bool finalNorm = true;
    bool head = true;        ///< logits over the vocabulary
    bool pooler = false;     ///< BERT's
    bool maskedHead = false; ///< BERT's two pre-training heads
};

/// A norm over h elements: scale, and offset unless RMS.
void
AddNorm(LayerSpec& layer, uint64_t h, bool rms)
{
    layer.tensors.push_back(h);
    if (!rms)
    {
        layer.tensors.push_back(h);
    }
    layer.pointwiseElements += {0, 2.0 * h, 0};
    layer.activationBytes += {0, 2.0 * h, 0};
}

/// A linear layer in -> out. Its input is kept for backward unless somebody else keeps it already.
void
AddLinear(LayerSpec& layer, uint64_t in, uint64_t out, bool bias, bool keepInput = true)
{
    layer.tensors.push_back(in * out);
    if (bias)
    {
        layer.tensors.push_back(out);
    }
    layer.flops += {0, 2.0 * in * out, 0};
    layer.matrixElements += {0, static_cast<double>(in + out), 0};
    if (keepInput)
    {
        layer.activationBytes += {0, 2.0 * in, 0};
    }
}

/// Per token: dropout (a mask of one byte is kept) and the sum with the residual: two reads, one
/// write.
void
AddResidual(LayerSpec& layer, uint64_t h, bool dropout)
{
    layer.pointwiseElements += {0, 3.0 * h, 0};
    layer.activationBytes += {0, dropout ? 1.0 * h : 0.0, 0};
}

LayerSpec
Embedding(const Transformer& t)
{
    LayerSpec layer;
    layer.name = "embedding";
    const uint64_t h = t.hidden;
    layer.tensors.push_back(static_cast<uint64_t>(t.vocabulary) * h);
    uint32_t tables = 1;
    for (const uint64_t rows : {t.positions, t.tokenTypes})
    {
        if (rows > 0)
        {
            layer.tensors.push_back(rows * h);
            ++tables;
        }
    }
    layer.pointwiseElements = {0, (tables + 1.0) * h, 0};
    layer.activationBytes = {0, t.dropout ? 1.0 * h : 0.0, 0};
    layer.checkpointBytes = {0, 0, 0};
    if (t.embeddingNorm)
    {
        AddNorm(layer, h, t.rms);
    }
    return layer;
}

/// The activation bytes are those of Korthikanti et al. (2022), section 4.1, term by term: with
/// dropout, two-matrix MLP, f = 4 h and as many key-value heads as heads they add up to b s h (34 +
/// 5 a s / h).
LayerSpec
Block(const Transformer& t, uint32_t index)
{
    LayerSpec layer;
    layer.name = "block " + std::to_string(index);
    const uint64_t h = t.hidden;
    const uint64_t kv = h / t.heads * t.kvHeads;
    const double a = t.heads;

    AddNorm(layer, h, t.rms);
    AddLinear(layer, h, h + 2 * kv, t.bias);
    // Scores Q K^T and context P V: 2 s^2 h FLOPs each, causal or not (Megatron-LM's count, SC'21
    // appendix).
    layer.flops += {0, 0, 4.0 * h};
    layer.matrixElements += {0, 2.0 * h + 2.0 * kv, 2 * a};
    layer.pointwiseElements +=
        {0, 0, t.dropout ? 4 * a : 2 * a}; // softmax, dropout: each read and written
    layer.activationBytes += {0, 2.0 * h + 4.0 * kv, t.dropout ? 5 * a : 2 * a};
    AddLinear(layer, h, h, t.bias);
    AddResidual(layer, h, t.dropout);

    AddNorm(layer, h, t.rms);
    const uint64_t f = t.ffn;
    if (t.gated)
    {
        AddLinear(layer, h, f, t.bias);
        AddLinear(layer, h, f, t.bias, false);
        layer.pointwiseElements += {0, 3.0 * f, 0};
        layer.activationBytes +=
            {0, 6.0 * f, 0}; // both inputs of the product and the activation's input
    }
    else
    {
        AddLinear(layer, h, f, t.bias);
        layer.pointwiseElements += {0, 2.0 * f, 0};
        layer.activationBytes += {0, 2.0 * f, 0};
    }
    AddLinear(layer, f, h, t.bias);
    AddResidual(layer, h, t.dropout);
    layer.checkpointBytes = {0, 2.0 * h, 0};
    return layer;
}

/// Projection to the vocabulary and cross-entropy, for the share `positions` of the tokens. The
/// loss reads and writes the logits in 32 bits and keeps them (4 b s V bytes, Korthikanti et al.
/// section 4.3); counted as four passes over 16-bit elements.
void
AddLogits(LayerSpec& layer, const Transformer& t, double positions)
{
    const double h = t.hidden;
    const double v = t.vocabulary;
    layer.flops += {0, positions * 2 * h * v, 0};
    layer.matrixElements += {0, positions * (h + v), 0};
    layer.pointwiseElements += {0, positions * 4 * v, 0};
    layer.activationBytes += {0, positions * (2 * h + 4 * v), 0};
    layer.checkpointBytes += {0, 2 * h, 0};
    const uint64_t matrix = static_cast<uint64_t>(t.vocabulary) * t.hidden;
    if (t.tied)
    {
        layer.tiedTo = 0;
        layer.tiedParameters = matrix;
    }
    else
    {
        layer.tensors.push_back(matrix);
    }
}

LayerSpec
Head(const Transformer& t)
{
    LayerSpec layer;
    layer.name = "head";
    const uint64_t h = t.hidden;
    if (t.finalNorm)
    {
        AddNorm(layer, h, t.rms);
    }
    if (t.pooler)
    {
        // Of the first token of each sample only.
        layer.tensors.insert(layer.tensors.end(), {h * h, h});
        layer.flops += {2.0 * h * h, 0, 0};
        layer.matrixElements += {2.0 * h, 0, 0};
    }
    if (t.maskedHead)
    {
        // 80 predictions in 512 tokens, 20 in 128: NVIDIA's recipe, max_predictions_per_seq.
        constexpr double kMasked = 80.0 / 512;
        layer.tensors.insert(layer.tensors.end(), {h * h, h, h, h, t.vocabulary, 2 * h, 2});
        layer.flops += {4.0 * h, kMasked * 2 * h * h, 0};
        layer.matrixElements += {0, kMasked * 2 * h, 0};
        AddLogits(layer, t, kMasked);
    }
    else if (t.head)
    {
        AddLogits(layer, t, 1);
    }
    return layer;
}

void
BuildTransformer(ModelSpec& model, ObjectReader& in)
{
    Transformer t;
    in.Whole("layers", t.layers, 1, 10000);
    in.Whole("hidden", t.hidden, 1, 1 << 20);
    in.Whole("heads", t.heads, 1, 1 << 16);
    in.Whole("vocab", t.vocabulary, 1, 1 << 26);
    for (const char* key : {"layers", "hidden", "heads", "vocab"})
    {
        if (!in.Has(key))
        {
            in.Error(key, "is missing: a transformer needs layers, hidden, heads and vocab");
        }
    }
    t.kvHeads = t.heads;
    t.ffn = 4 * t.hidden;
    in.Whole("kv_heads", t.kvHeads, 1, 1 << 16);
    in.Whole("ffn", t.ffn, 1, 1 << 24);
    in.Whole("positions", t.positions, 0, 1 << 26);
    in.Whole("token_types", t.tokenTypes, 0, 1 << 16);
    in.Flag("tied_embeddings", t.tied);
    in.Flag("gated_mlp", t.gated);
    std::string norm = "layer";
    in.Text("norm", norm);
    if (norm != "layer" && norm != "rms")
    {
        in.Error("norm", "is \"" + rdma::Shown(norm, 60) + "\"; must be \"layer\" or \"rms\"");
    }
    t.rms = norm == "rms";
    in.Flag("bias", t.bias);
    in.Flag("dropout", t.dropout);
    in.Flag("embedding_norm", t.embeddingNorm);
    in.Flag("final_norm", t.finalNorm);
    in.Flag("lm_head", t.head);
    in.Flag("pooler", t.pooler);
    in.Flag("masked_lm_head", t.maskedHead);
    if (t.layers == 0 || t.hidden == 0 || t.heads == 0 || t.vocabulary == 0)
    {
        return;
    }
    if (t.hidden % t.heads != 0)
    {
        in.Error("heads",
                 "must divide hidden (" + std::to_string(t.hidden) + "), but is " +
                     std::to_string(t.heads));
        return;
    }
    if (t.heads % t.kvHeads != 0)
    {
        in.Error("kv_heads",
                 "must divide heads (" + std::to_string(t.heads) + "), but is " +
                     std::to_string(t.kvHeads));
        return;
    }
    model.sequence = 2048;
    in.Whole("sequence", model.sequence, 1, 1 << 24);
    model.hasSequence = true;
    model.transformer =
        TransformerShape{t.layers, t.hidden, t.heads, t.kvHeads, t.ffn, t.vocabulary};
    model.layers.push_back(Embedding(t));
    for (uint32_t i = 0; i < t.layers; ++i)
    {
        model.layers.push_back(Block(t, i));
    }
    LayerSpec head = Head(t);
    if (head.flops.At(1, 1) > 0 || !head.tensors.empty())
    {
        model.layers.push_back(std::move(head));
    }
}

// ---------------------------------------------------------------------------------------------
// Operators on images: channels x size x size.

struct Picture
{
    uint64_t channels = 0;
    uint64_t size = 0; ///< height and width

    double Elements() const
    {
        return static_cast<double>(channels * size * size);
    }
};

/// ["conv", out, kernel, stride, padding], ["conv+bias", ...], ["bn"], ["relu"], ["maxpool",
/// kernel, stride, padding], ["avgpool"] (global), ["linear", out], ["dropout"]. Returns a message
/// if the operator is malformed.
std::string
Apply(const nlohmann::json& op, LayerSpec& layer, Picture& x)
{
    if (!op.is_array() || op.empty() || !op[0].is_string())
    {
        return "must be a list whose first element is the operator's name, e.g. [\"conv\", 64, 7, "
               "2, 3]";
    }
    const std::string kind = op[0].get<std::string>();
    std::vector<uint64_t> n;
    for (size_t i = 1; i < op.size(); ++i)
    {
        if (!op[i].is_number_unsigned() || op[i].get<uint64_t>() > 1 << 20)
        {
            return "element " + std::to_string(i) + " must be a whole number, at most 2^20";
        }
        n.push_back(op[i].get<uint64_t>());
    }
    const auto needs = [&](size_t count) {
        return n.size() == count
                   ? ""
                   : "\"" + rdma::Shown(kind, 60) + "\" needs " + std::to_string(count) +
                         " numbers, not " + std::to_string(n.size());
    };
    const auto slide = [&x](uint64_t kernel, uint64_t stride, uint64_t padding) -> uint64_t {
        return stride == 0 || kernel == 0 || x.size + 2 * padding < kernel
                   ? 0
                   : (x.size + 2 * padding - kernel) / stride + 1;
    };
    const double before = x.Elements();
    if (kind == "conv" || kind == "conv+bias")
    {
        if (const std::string e = needs(4); !e.empty())
        {
            return e;
        }
        if (static_cast<double>(x.channels) * n[0] * n[1] * n[1] > kMost)
        {
            return "has more than 2^40 weights";
        }
        const uint64_t weights = x.channels * n[0] * n[1] * n[1];
        x.size = slide(n[1], n[2], n[3]);
        x.channels = n[0];
        if (x.Elements() == 0)
        {
            return "leaves nothing of the picture";
        }
        layer.tensors.push_back(weights);
        if (kind == "conv+bias")
        {
            layer.tensors.push_back(n[0]);
        }
        layer.flops += {2.0 * weights * x.size * x.size, 0, 0};
        layer.matrixElements += {before + x.Elements(), 0, 0};
        layer.activationBytes += {2 * before, 0, 0};
        return "";
    }
    if (kind == "linear")
    {
        if (const std::string e = needs(1); !e.empty())
        {
            return e;
        }
        if (x.Elements() * n[0] > kMost)
        {
            return "has more than 2^40 weights";
        }
        const uint64_t in = x.channels * x.size * x.size;
        layer.tensors.insert(layer.tensors.end(), {in * n[0], n[0]});
        layer.flops += {2.0 * in * n[0], 0, 0};
        layer.matrixElements += {before + n[0], 0, 0};
        layer.activationBytes += {2 * before, 0, 0};
        x = {n[0], 1};
        return "";
    }
    if (kind == "maxpool")
    {
        if (const std::string e = needs(3); !e.empty())
        {
            return e;
        }
        x.size = slide(n[0], n[1], n[2]);
        if (x.size == 0)
        {
            return "leaves nothing of the picture";
        }
        layer.pointwiseElements += {before + x.Elements(), 0, 0};
        layer.activationBytes += {2 * before, 0, 0};
        return "";
    }
    if (const std::string e = needs(0); !e.empty())
    {
        return e;
    }
    if (kind == "bn")
    {
        // Training reads the input twice (statistics, then normalization) and writes once.
        layer.tensors.insert(layer.tensors.end(), {x.channels, x.channels});
        layer.pointwiseElements += {3 * before, 0, 0};
        layer.activationBytes += {2 * before, 0, 0};
    }
    else if (kind == "relu" || kind == "dropout")
    {
        // In place; what backward needs of it is the output, which the next operator keeps.
        layer.pointwiseElements += {2 * before, 0, 0};
    }
    else if (kind == "avgpool")
    {
        x.size = 1;
        layer.pointwiseElements += {before + x.Elements(), 0, 0};
    }
    else
    {
        return "\"" + rdma::Shown(kind, 60) +
               "\" is not an operator; there are conv, conv+bias, bn, relu, maxpool, avgpool, "
               "linear, dropout";
    }
    return "";
}

void
BuildOperators(ModelSpec& model, ObjectReader& in, std::vector<Problem>& problems)
{
    uint64_t size = 0;
    uint64_t channels = 3;
    in.Whole("image", size, 1, 1 << 14);
    in.Whole("channels", channels, 1, 1 << 14);
    model.hasSequence = false;
    model.sequence = 1;
    if (!in.Has("layers") || !in.At("layers").is_array() || in.At("layers").empty())
    {
        in.Error("layers", "must be a list of layers, each with \"name\" and \"ops\"");
        return;
    }
    Picture x{channels, size};
    size_t index = 0;
    for (const auto& entry : in.At("layers"))
    {
        const std::string path = in.Path("layers/" + std::to_string(index++));
        ObjectReader r(entry, path, problems);
        LayerSpec layer;
        r.Text("name", layer.name);
        const Picture start = x;
        layer.checkpointBytes = {2 * start.Elements(), 0, 0};
        const auto run = [&](const char* key, Picture& p) {
            if (!r.Has(key))
            {
                return;
            }
            if (!r.At(key).is_array())
            {
                r.Error(key, "must be a list of operators");
                return;
            }
            for (size_t i = 0; i < r.At(key).size(); ++i)
            {
                const std::string error = Apply(r.At(key)[i], layer, p);
                if (!error.empty())
                {
                    r.Error(std::string(key) + "/" + std::to_string(i), error);
                    return;
                }
            }
        };
        run("ops", x);
        bool residual = false;
        r.Flag("residual", residual);
        Picture side = start;
        run("shortcut", side); // a projection on the way around
        if (residual)
        {
            if (side.channels != x.channels || side.size != x.size)
            {
                r.Error("residual", "the two inputs of the sum have different shapes");
            }
            layer.pointwiseElements +=
                {5 * x.Elements(), 0, 0}; // sum: 2 reads, 1 write; the rectifier after it: 2
        }
        r.Finish();
        model.layers.push_back(std::move(layer));
    }
}

// ---------------------------------------------------------------------------------------------
// A plain list.

void
ReadWork(ObjectReader& r,
         const char* key,
         Work& work,
         std::vector<Problem>& problems,
         bool sequence)
{
    if (!r.Has(key))
    {
        return;
    }
    if (r.At(key).is_number())
    {
        r.Real(key, work.sample, 0, 1e18);
        return;
    }
    ObjectReader w(r.At(key), r.Path(key), problems);
    w.Real("sample", work.sample, 0, 1e18);
    w.Real("token", work.token, 0, 1e18);
    w.Real("pair", work.pair, 0, 1e18);
    if (!sequence && (work.token > 0 || work.pair > 0))
    {
        w.Error("token", "needs a model with \"sequence\"");
    }
    w.Finish();
}

void
BuildList(ModelSpec& model, ObjectReader& in, std::vector<Problem>& problems)
{
    model.hasSequence = in.Has("sequence");
    model.sequence = 1;
    in.Whole("sequence", model.sequence, 1, 1 << 24);
    if (in.At("layers").empty())
    {
        in.Error("layers", "is empty");
    }
    size_t index = 0;
    for (const auto& entry : in.At("layers"))
    {
        ObjectReader r(entry, in.Path("layers/" + std::to_string(index)), problems);
        LayerSpec layer;
        layer.name = "layer " + std::to_string(index);
        ++index;
        r.Text("name", layer.name);
        uint64_t parameters = 0;
        r.Whole("parameters", parameters, 0, kMost);
        if (!r.Has("parameters"))
        {
            r.Error("parameters", "is missing (0 if the layer has none)");
        }
        if (r.Has("tensors"))
        {
            uint64_t sum = 0;
            bool good = r.At("tensors").is_array();
            for (size_t i = 0; good && i < r.At("tensors").size(); ++i)
            {
                const auto& v = r.At("tensors")[i];
                good = v.is_number_unsigned() && v.get<uint64_t>() <= kMost;
                layer.tensors.push_back(good ? v.get<uint64_t>() : 0);
                sum += layer.tensors.back();
            }
            if (!good)
            {
                r.Error("tensors", "must be a list of whole numbers of elements");
            }
            else if (sum != parameters)
            {
                r.Error("tensors",
                        "add up to " + std::to_string(sum) + ", but parameters is " +
                            std::to_string(parameters));
            }
        }
        else if (parameters > 0)
        {
            layer.tensors.push_back(parameters);
        }
        if (!r.Has("flops"))
        {
            r.Error("flops",
                    "is missing: forward FLOPs a sample (a multiply-add counts 2), or {\"sample\", "
                    "\"token\", \"pair\"}");
        }
        ReadWork(r, "flops", layer.flops, problems, model.hasSequence);
        ReadWork(r, "matrix_elements", layer.matrixElements, problems, model.hasSequence);
        ReadWork(r, "pointwise_elements", layer.pointwiseElements, problems, model.hasSequence);
        ReadWork(r, "activation_bytes", layer.activationBytes, problems, model.hasSequence);
        ReadWork(r, "checkpoint_bytes", layer.checkpointBytes, problems, model.hasSequence);
        uint32_t repeat = 1;
        r.Whole("repeat", repeat, 1, 10000);
        r.Finish();
        for (uint32_t i = 0; i < repeat; ++i)
        {
            LayerSpec copy = layer;
            copy.name += repeat > 1 ? " " + std::to_string(i) : "";
            model.layers.push_back(std::move(copy));
        }
    }
}

} // namespace

double
ModelSpec::ForwardFlops(uint32_t batch, uint32_t s) const
{
    double flops = 0;
    for (const auto& layer : layers)
    {
        flops += layer.flops.At(batch, s);
    }
    return flops;
}

std::optional<ModelSpec>
ParseModelJson(const nlohmann::json& json, std::vector<Problem>& problems)
{
    const size_t before = problems.size();
    ObjectReader in(json, "", problems);
    if (!json.is_object())
    {
        return std::nullopt;
    }
    ModelSpec model;
    in.Text("name", model.name);
    if (model.name.empty())
    {
        in.Error("name", "is missing");
    }
    in.Text("family", model.family);
    in.Text("source", model.source);
    in.Whole("parameters_published", model.parametersPublished, 0, kMost);
    in.Has("aliases"); // of the zoo
    in.Has("note");    // for people
    if (in.Has("hidden"))
    {
        BuildTransformer(model, in);
    }
    else if (in.Has("image"))
    {
        BuildOperators(model, in, problems);
    }
    else if (in.Has("layers") && in.At("layers").is_array())
    {
        BuildList(model, in, problems);
    }
    else
    {
        in.Error(
            "layers",
            "is missing: give a transformer (layers, hidden, heads, vocab) or a list of layers");
    }
    in.Finish();

    std::set<std::string> names;
    for (size_t i = 0; i < model.layers.size(); ++i)
    {
        auto& layer = model.layers[i];
        layer.name = layer.name.empty() ? "layer " + std::to_string(i) : layer.name;
        if (!names.insert(layer.name).second)
        {
            in.Error("layers/" + std::to_string(i) + "/name",
                     "\"" + rdma::Shown(layer.name, 60) + "\" is the name of two layers");
        }
        layer.parameters = 0;
        for (const uint64_t t : layer.tensors)
        {
            layer.parameters += t;
        }
        model.parameters += layer.parameters;
    }
    if (model.parameters == 0 && problems.size() == before)
    {
        in.Error("layers", "have no parameters: there is nothing to train");
    }
    if (model.parametersPublished != 0 && problems.size() == before &&
        model.parameters != model.parametersPublished)
    {
        in.Error("parameters_published",
                 "is " + std::to_string(model.parametersPublished) + ", but the layers have " +
                     std::to_string(model.parameters));
    }
    for (size_t i = before; i < problems.size(); ++i)
    {
        if (problems[i].error)
        {
            return std::nullopt;
        }
    }
    return model;
}

} // namespace training
