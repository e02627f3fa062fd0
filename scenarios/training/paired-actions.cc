/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/paired-actions.h"

#include "scenarios/asked/degrees.h"
#include "scenarios/asked/training.h"
#include "scenarios/options/member.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace training
{

namespace
{

bool
Holds(const Span& span, Position position)
{
    return position != kStart && position >= span.first && position <= span.last;
}

class Pairing
{
  public:
    explicit Pairing(RankWork& work)
        : m_work(work),
          m_newOf(work.order.size()),
          m_endOf(work.actions.size(), kStart),
          m_beginOf(work.actions.size(), kStart)
    {
        std::iota(m_newOf.begin(), m_newOf.end(), 0);
    }

    void Run()
    {
        OwnLines();
        for (std::size_t i = 0; i + 1 < m_work.actions.size(); ++i)
        {
            if (m_work.actions[i].action.kind == PipelineAction::Kind::kBackward &&
                m_work.actions[i + 1].action.kind == PipelineAction::Kind::kForward)
            {
                Interleave(i);
                ++i;
            }
        }
        MoveLines();
        MoveComputations();
    }

  private:
    /// Finds the exchanges of every action, by index.
    void OwnLines()
    {
        m_lines.resize(m_work.actions.size());
        std::size_t action = 0;
        for (std::size_t i = 0; i < m_work.exchanges.size(); ++i)
        {
            // One at an entry is written down behind the action before.
            const InLine& line = m_work.exchanges[i];
            const Position at = line.entry ? line.user : line.written;
            while (action + 1 < m_work.actions.size() && at > m_work.actions[action].span.last)
            {
                ++action;
            }
            m_lines[action].push_back(i);
        }
    }

    /// Ends (first computations behind) of what an action computes between two of its exchanges
    /// with experts. The first is empty if it begins with one.
    std::vector<Position> SegmentsOf(std::size_t action) const
    {
        const Span& span = m_work.actions[action].span;
        std::vector<Position> ends;
        for (const std::size_t i : m_lines[action])
        {
            const InLine& line = m_work.exchanges[i];
            if (IsOfExperts(line.exchange.group) && Holds(span, line.user) &&
                (ends.empty() || ends.back() < line.user))
            {
                ends.push_back(line.user);
            }
        }
        ends.push_back(span.last + 1);
        return ends;
    }

    void Interleave(std::size_t backward)
    {
        const std::vector<Position> ends[] = {SegmentsOf(backward), SegmentsOf(backward + 1)};
        if (ends[0].size() == 1 && ends[1].size() == 1)
        {
            return;
        }
        const Position begin = m_work.actions[backward].span.first;
        Position next = begin;
        Position at[] = {begin, m_work.actions[backward + 1].span.first};
        for (std::size_t s = 0; s < std::max(ends[0].size(), ends[1].size()); ++s)
        {
            for (const std::size_t which : {0, 1})
            {
                for (; s < ends[which].size() && at[which] < ends[which][s]; ++at[which])
                {
                    m_newOf[at[which]] = next++;
                }
            }
        }
        for (const std::size_t action : {backward, backward + 1})
        {
            m_beginOf[action] = begin;
            m_endOf[action] = next;
        }
    }

    void MoveLines()
    {
        for (std::size_t a = 0; a < m_work.actions.size(); ++a)
        {
            if (m_beginOf[a] == kStart)
            {
                continue;
            }
            const Span& span = m_work.actions[a].span;
            for (const std::size_t i : m_lines[a])
            {
                InLine& line = m_work.exchanges[i];
                // Data made before the action were made before the pair: there is always the
                // forward pass of the backward one before it.
                line.made = Holds(span, line.made) ? m_newOf[line.made] : m_beginOf[a] - 1;
                line.written = Holds(span, line.written) ? m_newOf[line.written] : kStart;
                line.user = Holds(span, line.user) ? m_newOf[line.user] : m_endOf[a];
                line.ahead = line.entry ? m_beginOf[a] : kStart;
            }
        }
        std::stable_sort(m_work.exchanges.begin(),
                         m_work.exchanges.end(),
                         [](const InLine& a, const InLine& b) {
                             return a.made + Position{1} < b.made + Position{1}; // kStart first
                         });
    }

    void Move(Position& position) const
    {
        position = position == kStart ? kStart : m_newOf[position];
    }

    void Move(std::vector<Span>& spans) const
    {
        for (Span& span : spans)
        {
            Move(span.first);
            Move(span.last);
        }
    }

    void MoveComputations()
    {
        std::vector<Computation> order(m_work.order.size());
        for (std::size_t p = 0; p < order.size(); ++p)
        {
            order[m_newOf[p]] = std::move(m_work.order[p]);
        }
        m_work.order = std::move(order);
        for (std::size_t a = 0; a < m_work.actions.size(); ++a)
        {
            DoneAction& done = m_work.actions[a];
            Move(done.span.first);
            Move(done.span.last);
            done.begin = m_beginOf[a] == kStart ? done.span.first : m_beginOf[a];
        }
        Move(m_work.forwards);
        Move(m_work.backwards);
        for (std::vector<Position>* positions : {&m_work.gradients, &m_work.passes})
        {
            for (Position& position : *positions)
            {
                Move(position);
            }
        }
    }

    RankWork& m_work;
    std::vector<std::vector<std::size_t>> m_lines; ///< by action
    std::vector<Position> m_newOf;                 ///< new place of every position
    /// By action of a pair: the first computation behind the pair, and its first.
    std::vector<Position> m_endOf;
    std::vector<Position> m_beginOf;
};

} // namespace

std::optional<std::string>
WhyNotPaired(const TrainingOptions& o)
{
    const auto number = [](uint64_t n) { return std::to_string(n); };
    if (o.expert == 1)
    {
        return "has no all-to-all to run beside computing with " + Spell(&asked::Degrees::ep) +
               "=1; allowed with it: " + Spell(&asked::Degrees::ep) +
               " from "
               "2 on";
    }
    if (o.sharding.parameters)
    {
        // Gathered and freed as one micro-batch goes through the layers.
        return "goes through two micro-batches in turns, and " + Spell(&asked::Training::zero) +
               "=3 gathers the parameters "
               "of a "
               "layer for one at a time; allowed with it: " +
               Spell(&asked::Training::zero) + "=0, 1 or 2";
    }
    if (o.accumulation < 2)
    {
        return "runs beside another micro-batch, and " + Spell(&asked::Training::accumulation) +
               " is " + number(o.accumulation) + "; allowed with it: 2 and more";
    }
    if (!FindPipelineSchedule(o.schedule)->PairsPasses(o.pipeline))
    {
        return o.pipeline == 1
                   ? "pairs the passes of " + Spell(&asked::Training::pipelineSchedule) +
                         "=1f1b, not of " + o.schedule
                   : "in a pipeline pairs the passes of interleaved stages, as Megatron-LM does, "
                     "or of " +
                         Spell(&asked::Training::pipelineSchedule) + "=dualpipev: with " +
                         o.schedule +
                         " stages would wait for each other or have no pairs; allowed with it: " +
                         Spell(&asked::Training::virtualStages) + " from 2 on, or " +
                         Spell(&asked::Degrees::pp) + "=1";
    }
    return std::nullopt;
}

void
PairActions(RankWork& work)
{
    Pairing(work).Run();
}

} // namespace training
