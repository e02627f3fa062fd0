/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Layers of operators on images (channels x size x size): parameters and FLOPs follow.
 */
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/models/model-forms.h"

namespace training
{

namespace
{

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
Apply(const nlohmann::json& op, Part& part, Picture& x)
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
        part.tensors.push_back({weights});
        if (kind == "conv+bias")
        {
            part.tensors.push_back({n[0]});
        }
        const double places = static_cast<double>(x.size) * static_cast<double>(x.size);
        Operator product =
            Product({places, 0, 0}, n[0], static_cast<double>(weights) / static_cast<double>(n[0]));
        product.kind = KernelClass::kConvolution;
        product.elements = {before + x.Elements(), 0, 0};
        part.operators.push_back(product);
        part.kept.push_back({{2 * before, 0, 0}});
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
        part.tensors.insert(part.tensors.end(), {{in * n[0]}, {n[0]}});
        part.operators.push_back(Product({1, 0, 0}, n[0], in));
        part.kept.push_back({{2 * before, 0, 0}});
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
        AddPointwise(part, {before + x.Elements(), 0, 0});
        part.kept.push_back({{2 * before, 0, 0}});
        return "";
    }
    if (const std::string e = needs(0); !e.empty())
    {
        return e;
    }
    if (kind == "bn")
    {
        // Training reads the input twice (statistics, then normalization) and writes once. Backward
        // reads input and gradient twice (sums, then the gradient, which it writes).
        part.tensors.insert(part.tensors.end(), {{x.channels}, {x.channels}});
        AddPointwise(part, {3 * before, 0, 0});
        part.operators.back().backward = 5.0 / 3;
        part.kept.push_back({{2 * before, 0, 0}});
    }
    else if (kind == "relu" || kind == "dropout")
    {
        // In place; what backward needs of it is the output, which the next operator keeps.
        AddPointwise(part, {2 * before, 0, 0});
        part.operators.back().backward = 3.0 / 2; // output and gradient read, gradient written
    }
    else if (kind == "avgpool")
    {
        x.size = 1;
        AddPointwise(part, {before + x.Elements(), 0, 0});
    }
    else
    {
        return "\"" + rdma::Shown(kind, 60) +
               "\" is not an operator; there are conv, conv+bias, bn, relu, maxpool, avgpool, "
               "linear, dropout";
    }
    return "";
}

} // namespace

void
BuildOperators(ModelSpec& model, topo::JsonObject& in)
{
    uint64_t size = 0;
    uint64_t channels = 3;
    in.Whole("image", size, 1, 1 << 14);
    in.Whole("channels", channels, 1, 1 << 14);
    model.hasSequence = false;
    model.sequence = 1;
    if (!in.Has("layers") || !in.At("layers").is_array() || in.At("layers").empty())
    {
        in.Say("layers", "must be a list of layers, each with \"name\" and \"ops\"");
        return;
    }
    Picture x{channels, size};
    size_t index = 0;
    for (const auto& entry : in.At("layers"))
    {
        topo::JsonObject r = in.Inner(entry, "layers/" + std::to_string(index++));
        LayerSpec layer;
        Part part;
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
                r.Fail(key, "is not a list of operators");
                return;
            }
            for (size_t i = 0; i < r.At(key).size(); ++i)
            {
                const std::string error = Apply(r.At(key)[i], part, p);
                if (!error.empty())
                {
                    r.Say(std::string(key) + "/" + std::to_string(i), error);
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
                r.Say("residual", "the two inputs of the sum have different shapes");
            }
            // Sum: 2 reads, 1 write; the rectifier after it: 2. Backward: the rectifier's 3; the
            // sum of the gradients of the two ways, 3.
            AddPointwise(part, {5 * x.Elements(), 0, 0});
            part.operators.back().backward = 6.0 / 5;
        }
        layer.output = {x.Elements(), 0, 0};
        layer.parts.push_back(std::move(part));
        r.Finish();
        model.layers.push_back(std::move(layer));
    }
}

} // namespace training
