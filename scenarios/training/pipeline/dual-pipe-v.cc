/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * DualPipeV: DeepSeek-V3's DualPipe (arXiv 2412.19437, section 3.2.1) on half of its devices
 * (README of deepseek-ai/DualPipe, "DualPipeV"; Qi et al., "DualPipe could be better without the
 * Dual"). The model's 2 p pieces go down the p stages and up again, so that a stage has pieces i
 * and 2 p - 1 - i: the first and the last one stand together.
 *
 *     stage      0     1    ..  p - 1
 *     chunk 0    0  -> 1 -> ..  p - 1
 *                                 |      no message
 *     chunk 1  2p-1 <- 2p-2 <-..  p
 *
 * DualPipe has the same pieces on its devices i and 2 p - 1 - i, and half of its micro-batches go
 * the other way. So a job with DualPipe on 2 p stages and n replicas is this schedule on p stages
 * with 2 n replicas: as many devices, with the same parameters, micro-batches and messages.
 *
 * Stage i, with k = p - 1 - i stages behind it; F and B passes of chunk 0 or 1; B apart in I (for
 * the inputs) and W (for the weights) where a gap is to be filled; each row takes the next
 * micro-batches in order:
 *
 *     fill      2 k times F0;  i + 1 times F0 F1;  k times I1 W F1
 *     steady    m - 2 p + i + 1 times (B1 F0) (B0 F1)
 *     drain     k times B1 (B0 F1);  i + 1 times B1 B0, the second half of them I;
 *               k times W I0;  the other Ws
 *
 * In brackets are the pairs that --moe-overlap computes in turns. DeepSeek's code begins their
 * forward passes first, which without overlap holds one micro-batch more.
 *
 * Bubble, from running these orders: (p - 1) max(I, 2 I - W, F + I - W), exact for W <= F <= I,
 * else at least that. DeepSeek's table has (p - 1)((F beside B) + B - 3 W) for pairs beside each
 * other. At most 2 p micro-batches of half of the stage's layers are held.
 */
#include "scenarios/training/pipeline/schedule.h"

#include <algorithm>
#include <deque>

namespace training
{

namespace
{

class DualPipeV final : public PipelineSchedule
{
  public:
    std::string Name() const override
    {
        return "dualpipev";
    }

    std::string Description() const override
    {
        return "DeepSeek-V3's DualPipe on half of its devices: stages have pieces of both ends";
    }

    bool Folds() const override
    {
        return true;
    }

    uint32_t UsualVirtualStages() const override
    {
        return 2;
    }

    bool PairsPasses(uint32_t stages) const override
    {
        return stages > 1;
    }

    std::vector<PipelineAction> OrderOf(const PipelineShape& shape,
                                        uint32_t stage,
                                        uint32_t /* replica */,
                                        uint32_t step) const override
    {
        const uint32_t behind = shape.stages - 1 - stage;
        Order order(shape, step);
        order.Times(2 * behind, [&](uint32_t) { order.Forward(0); });
        order.Times(stage + 1, [&](uint32_t) {
            order.Forward(0);
            order.Forward(1);
        });
        order.Times(behind, [&](uint32_t) {
            order.Input(1);
            order.Weights();
            order.Forward(1);
        });
        // With too few micro-batches (WhyNotThis) there is an order, which is no step: memory is
        // estimated before a job is refused.
        const uint32_t filling = 2 * shape.stages - stage - 1;
        const uint32_t steady = std::max(shape.microBatches, filling) - filling;
        order.Times(steady, [&](uint32_t) {
            order.Backward(1);
            order.Forward(0);
            order.Backward(0);
            order.Forward(1);
        });
        order.Times(behind, [&](uint32_t) {
            order.Backward(1);
            order.Backward(0);
            order.Forward(1);
        });
        // Of 2 (stage + 1) backward passes the second half.
        order.Times(2 * (stage + 1), [&](uint32_t i) {
            const uint32_t chunk = i % 2 == 0 ? 1 : 0;
            i > stage ? order.Input(chunk) : order.Backward(chunk);
        });
        order.Times(behind, [&](uint32_t) {
            order.Weights();
            order.Input(0);
        });
        return order.Ended();
    }

    uint32_t InFlight(const PipelineShape& shape, uint32_t /* stage */) const override
    {
        return 2 * shape.stages;
    }

    double Bubble(const PipelineShape& shape, const PieceTimes& times) const override
    {
        const double input = times.backwardInput;
        return (shape.stages - 1) * std::max({input,
                                              2 * input - times.backwardWeights,
                                              times.forward + input - times.backwardWeights});
    }

    bool BubbleIsExact(const PipelineShape& shape, const PieceTimes& times) const override
    {
        return shape.stages == 1 ||
               (times.backwardWeights <= times.forward && times.forward <= times.backwardInput);
    }

  protected:
    std::optional<PipelineRefusal> WhyNotThis(const PipelineShape& shape) const override
    {
        using Of = PipelineRefusal::Of;
        if (const auto why = WhyNotReplicated(shape))
        {
            return why;
        }
        if (shape.virtualStages != 2)
        {
            return PipelineRefusal{Of::kVirtualStages,
                                   "but dualpipev has two chunks of layers on each device; "
                                   "allowed: 2"};
        }
        if (shape.microBatches < 2 * shape.stages)
        {
            return PipelineRefusal{Of::kMicroBatches,
                                   "but dualpipev needs two micro-batches for each of the " +
                                       std::to_string(shape.stages) + " stages; allowed: " +
                                       std::to_string(2 * shape.stages) + " and more"};
        }
        return std::nullopt;
    }

  private:
    using Kind = PipelineAction::Kind;

    /// Actions of a stage in a step, each with the next micro-batch of its kind and chunk.
    class Order
    {
      public:
        Order(const PipelineShape& shape, uint32_t step)
            : m_first(step * shape.microBatches)
        {
            m_actions.reserve(6 * size_t{shape.microBatches});
        }

        template <class Body>
        void Times(uint32_t count, const Body& body)
        {
            for (uint32_t i = 0; i < count; ++i)
            {
                body(i);
            }
        }

        void Forward(uint32_t chunk)
        {
            m_actions.push_back({Kind::kForward, m_first + m_forwards[chunk]++, chunk});
        }

        void Backward(uint32_t chunk)
        {
            m_actions.push_back({Kind::kBackward, m_first + m_backwards[chunk]++, chunk});
        }

        void Input(uint32_t chunk)
        {
            Backward(chunk);
            m_actions.back().kind = Kind::kBackwardInput;
            m_weights.push_back(m_actions.back());
            m_weights.back().kind = Kind::kBackwardWeights;
        }

        /// The oldest that is left.
        void Weights()
        {
            m_actions.push_back(m_weights.front());
            m_weights.pop_front();
        }

        std::vector<PipelineAction> Ended()
        {
            m_actions.insert(m_actions.end(), m_weights.begin(), m_weights.end());
            return std::move(m_actions);
        }

      private:
        uint32_t m_first;
        uint32_t m_forwards[2] = {};
        uint32_t m_backwards[2] = {};
        std::deque<PipelineAction> m_weights;
        std::vector<PipelineAction> m_actions;
    };
};

const RegisteredPipeline<DualPipeV> g_dualPipeV;

} // namespace

} // namespace training
