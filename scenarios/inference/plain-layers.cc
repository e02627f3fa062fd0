/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/plain-layers.h"

#include "scenarios/training/layer-kernels.h"
#include "scenarios/training/piece-layers.h"
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
#include <cmath>

namespace serving
{

namespace
{

using training::Kernel;
using training::KernelClass;
using training::LayerSpec;
using training::Operator;
using training::Part;
using training::Split;

bool
IsProduct(const Operator& op)
{
    return (op.kind == KernelClass::kMatrix || op.kind == KernelClass::kConvolution) && op.weights;
}

bool
IsRecurrent(const Part& part)
{
    return std::any_of(part.operators.begin(), part.operators.end(), [](const Operator& op) {
        return op.count > 1;
    });
}

/// Cuts layer after layer.
class PlainCutter
{
  public:
    explicit PlainCutter(const PlainWork& work)
        : m_work(work),
          m_gpu(training::InTraining(work.gpu)),
          m_byOperator(work.tensor > 1 && CutByOperator(work.model))
    {
        m_options.model = work.model;
        m_options.gpu = work.gpu;
        m_options.microBatch = work.batch;
        m_options.sequence = work.model.sequence;
        m_options.dtype = work.dtype;
        m_options.fusedAttention = true; // nothing is kept, so scores need not reach the memory
        m_options.tensor = m_byOperator ? 1 : work.tensor;
    }

    std::vector<PlainLayer> Cut()
    {
        std::vector<PlainLayer> layers;
        double before = 0; // elements that come in
        for (const LayerSpec& layer : m_work.model.layers)
        {
            PlainLayer& made = layers.emplace_back();
            made.name = layer.name;
            made.output = At(layer.output);
            made.steps.emplace_back();
            for (const Part& part : layer.parts)
            {
                m_byOperator ? AddByOperator(part, before, made) : AddAsSaid(part, made);
            }
            made.divided = m_divided;
            before = made.output;
        }
        if (m_divided && !layers.empty())
        {
            Exchange(layers.back(), coll::Op::kAllGather, layers.back().output);
            m_divided = false;
        }
        return layers;
    }

  private:
    double At(const training::Work& work) const
    {
        return work.At(m_work.batch, m_options.Sequence());
    }

    void Exchange(PlainLayer& layer, coll::Op op, double elements) const
    {
        layer.steps.back().cut = PlainCut{op, elements};
        layer.steps.emplace_back();
    }

    void Compute(const Operator& op, const Part& part, double share, PlainLayer& layer) const
    {
        const double computed = IsProduct(op) ? m_work.computed : 1;
        for (Kernel kernel : KernelsOf(op, part, training::Pass::kForward, m_options))
        {
            kernel.flops *= share;
            kernel.elements *= share;
            kernel.bytes *= share;
            layer.steps.back().seconds += computed * Seconds(kernel, m_gpu, m_work.dtype);
        }
    }

    /// As training cuts it.
    void AddAsSaid(const Part& part, PlainLayer& layer)
    {
        for (const Operator& op : part.operators)
        {
            Compute(op, part, 1, layer);
            if (op.split == Split::kTensor && IsProduct(op))
            {
                m_divided = m_work.tensor > 1 && !op.dividesInner;
            }
        }
        if (m_work.tensor > 1 && !part.exit.IsZero())
        {
            Exchange(layer, coll::Op::kAllReduce, At(part.exit));
            m_divided = false;
        }
    }

    void AddByOperator(const Part& part, double before, PlainLayer& layer)
    {
        if (IsRecurrent(part))
        {
            if (m_divided)
            {
                Exchange(layer, coll::Op::kAllGather, before);
                m_divided = false;
            }
            for (const Operator& op : part.operators)
            {
                Compute(op, part, 1, layer);
            }
            return;
        }
        const bool in = m_divided;
        std::vector<bool> divided; // by operator
        for (const Operator& op : part.operators)
        {
            std::vector<int32_t> takes = op.takes;
            if (takes.empty())
            {
                takes = {static_cast<int32_t>(divided.size()) - 1};
            }
            const bool shares = std::any_of(takes.begin(), takes.end(), [&](int32_t from) {
                return from < 0 ? in : divided[static_cast<std::size_t>(from)];
            });
            divided.push_back(IsProduct(op) ? AddProduct(op, part, shares, layer) : shares);
            if (!IsProduct(op))
            {
                Compute(op, part, shares ? 1.0 / m_work.tensor : 1, layer);
            }
        }
        const bool hasWays = !part.operators.empty() && !part.operators.front().takes.empty();
        if (hasWays)
        {
            m_divided = part.leaves < 0 ? in : divided[static_cast<std::size_t>(part.leaves)];
        }
        else if (!divided.empty())
        {
            m_divided = divided.back();
        }
    }

    /// \param shares its input is divided \return whether its output is
    bool AddProduct(const Operator& op, const Part& part, bool shares, PlainLayer& layer) const
    {
        const double tensor = m_work.tensor;
        double output = op.channels > 0 ? op.channels * op.places * m_work.batch : layer.output;
        if (op.columns == 0)
        {
            // Of a convolution in groups each GPU has some of the groups; of others only the work
            // is known, and shared out evenly.
            Compute(op, part, 1 / tensor, layer);
            if (op.kind == KernelClass::kConvolution)
            {
                return true;
            }
        }
        else
        {
            Operator own = op;
            const double rows = op.rows.At(1, m_options.Sequence());
            output = rows * op.columns * m_work.batch;
            if (shares)
            {
                own.inner = std::ceil(op.inner / tensor);
            }
            else
            {
                own.columns = std::ceil(op.columns / tensor);
            }
            if (op.elements.sample > 0) // of a convolution: what it reads, and what it writes
            {
                const double written = rows * op.columns;
                const double read = op.elements.sample - written;
                own.elements.sample = shares ? read / tensor + written : read + rows * own.columns;
            }
            Compute(own, part, 1, layer);
        }
        if (shares)
        {
            Exchange(layer, coll::Op::kAllReduce, output);
        }
        return !shares;
    }

    const PlainWork& m_work;
    training::GpuSpec m_gpu;
    bool m_byOperator;
    training::TrainingOptions m_options;
    bool m_divided = false; ///< each GPU has a share of what the next layer takes
};

} // namespace

std::vector<PlainLayer>
PlainLayers(const PlainWork& work)
{
    return PlainCutter(work).Cut();
}

bool
CutByOperator(const training::ModelSpec& model)
{
    return std::none_of(model.layers.begin(), model.layers.end(), [](const LayerSpec& layer) {
        return std::any_of(layer.parts.begin(), layer.parts.end(), [](const Part& part) {
            return std::any_of(part.operators.begin(), part.operators.end(), [](const auto& op) {
                return op.split == Split::kTensor;
            });
        });
    });
}

std::string
WhyNotPlain(const training::ModelSpec& model, uint32_t tensor)
{
    const bool gathered = tensor > 1 && CutByOperator(model);
    for (const LayerSpec& layer : model.layers)
    {
        const bool sent = gathered || &layer != &model.layers.back();
        if (sent && layer.output.IsZero())
        {
            return "layer \"" + layer.name +
                   "\" does not say how many elements the next one takes; allowed: "
                   "\"output_elements\" in each layer of the model's file";
        }
    }
    return {};
}

std::vector<uint32_t>
StagesOfLayers(const training::ModelSpec& model, uint32_t stages)
{
    const uint32_t blocks = training::StageBlocksOf(model);
    const bool all = blocks == 0;
    const uint64_t counted = std::max<uint64_t>(1, all ? model.layers.size() : blocks);
    std::vector<uint32_t> stageOf;
    uint64_t block = 0;
    for (const LayerSpec& layer : model.layers)
    {
        stageOf.push_back(
            static_cast<uint32_t>(std::min<uint64_t>(block * stages / counted, stages - 1)));
        block += all || training::IsBlock(model, layer) ? 1 : 0;
    }
    return stageOf;
}

} // namespace serving
