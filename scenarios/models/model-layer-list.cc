/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A plain list of layers, whose parameters and FLOPs are given.
 */
#include "scenarios/models/model-forms.h"

namespace training
{

namespace
{

void
ReadWork(topo::JsonObject& r, const char* key, Work& work, bool sequence)
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
    topo::JsonObject w = r.Inner(r.At(key), key);
    w.Real("sample", work.sample, 0, 1e18);
    w.Real("token", work.token, 0, 1e18);
    w.Real("pair", work.pair, 0, 1e18);
    if (!sequence && (work.token > 0 || work.pair > 0))
    {
        w.Say("token", "needs a model with \"sequence\"");
    }
    w.Finish();
}

} // namespace

void
BuildList(ModelSpec& model, topo::JsonObject& in)
{
    model.hasSequence = in.Has("sequence");
    model.sequence = 1;
    in.Whole("sequence", model.sequence, 1, 1 << 24);
    if (in.At("layers").empty())
    {
        in.Fail("layers", "is empty");
    }
    size_t index = 0;
    for (const auto& entry : in.At("layers"))
    {
        topo::JsonObject r = in.Inner(entry, "layers/" + std::to_string(index));
        LayerSpec layer;
        Part part;
        layer.name = "layer " + std::to_string(index);
        ++index;
        r.Name("name", layer.name, topo::Need::kOptional);
        uint64_t parameters = 0;
        r.Whole("parameters", parameters, 0, kMost);
        if (!r.Has("parameters"))
        {
            r.Missing("parameters", " (0 if the layer has none)");
        }
        if (r.Has("tensors"))
        {
            uint64_t sum = 0;
            bool good = r.At("tensors").is_array();
            for (size_t i = 0; good && i < r.At("tensors").size(); ++i)
            {
                const auto& v = r.At("tensors")[i];
                good = v.is_number_unsigned() && v.get<uint64_t>() <= kMost;
                part.tensors.push_back({good ? v.get<uint64_t>() : 0});
                sum += part.tensors.back().elements;
            }
            if (!good)
            {
                r.Say("tensors", "must be a list of whole numbers of elements");
            }
            else if (sum != parameters)
            {
                r.Say("tensors",
                      "add up to " + std::to_string(sum) + ", but parameters is " +
                          std::to_string(parameters));
            }
        }
        else if (parameters > 0)
        {
            part.tensors.push_back({parameters});
        }
        if (!r.Has("flops"))
        {
            r.Missing("flops",
                      ": forward FLOPs a sample (a multiply-add counts 2), or {\"sample\", "
                      "\"token\", \"pair\"}");
        }
        Operator product;
        product.kind = KernelClass::kMatrix;
        ReadWork(r, "flops", product.flops, model.hasSequence);
        ReadWork(r, "matrix_elements", product.elements, model.hasSequence);
        product.weights = product.flops.At(1, 1) > 0;
        if (product.weights || !product.elements.IsZero())
        {
            part.operators.push_back(product);
        }
        Work pointwise;
        ReadWork(r, "pointwise_elements", pointwise, model.hasSequence);
        if (!pointwise.IsZero())
        {
            AddPointwise(part, pointwise);
        }
        Kept kept;
        ReadWork(r, "activation_bytes", kept.bytes, model.hasSequence);
        part.kept.push_back(kept);
        ReadWork(r, "checkpoint_bytes", layer.checkpointBytes, model.hasSequence);
        ReadWork(r, "output_elements", layer.output, model.hasSequence);
        layer.parts.push_back(std::move(part));
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

} // namespace training
