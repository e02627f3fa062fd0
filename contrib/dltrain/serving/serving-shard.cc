/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-shard.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

using serving::StageOp;

ServingShard::ServingShard(Place place,
                           const std::vector<StageOp>& chain,
                           Seats tensor,
                           Seats experts,
                           const Tags& tags,
                           CollectiveRunner& collectives,
                           MessageRunner& messages,
                           ShardListener& listener)
    : m_place(std::move(place)),
      m_chain(chain),
      m_tensor(std::move(tensor)),
      m_experts(std::move(experts)),
      m_tags(tags),
      m_collectives(collectives),
      m_messages(messages),
      m_listener(listener),
      m_events(this)
{
}

uint32_t
ServingShard::Context() const
{
    return m_collectives.ContextOf(m_place.ranks.front());
}

void
ServingShard::Add(ShardWork work, int64_t now)
{
    m_queue.push_back(std::move(work));
    if (!m_busy)
    {
        m_busy = true;
        m_events.Schedule(now, Context(), {What::BEGIN, 0});
    }
}

void
ServingShard::OnEvent(const Payload& payload, int64_t now)
{
    switch (payload.what)
    {
    case What::BEGIN:
        Begin(now);
        return;
    case What::LAYER:
        SendLayer(payload.block, now);
        return;
    case What::COMPUTED:
        GoOn(now);
        return;
    }
}

void
ServingShard::Begin(int64_t now)
{
    m_next = 0;
    m_halves = 0;
    m_tensorWaits = m_expertsWaits = {};
    if (m_place.first)
    {
        GoOn(now);
        return;
    }
    m_waiting = static_cast<uint32_t>(m_place.ranks.size());
    m_since = -1;
    for (const Rank rank : m_place.ranks)
    {
        m_messages.Receive({ACTIVATIONS, rank - m_place.hop, rank, 0}, m_place.number, now);
    }
}

void
ServingShard::OnDone(int64_t now)
{
    if (--m_waiting > 0)
    {
        return;
    }
    if (m_since >= 0)
    {
        (m_inTensor ? m_tensorWaits : m_expertsWaits).Add(now - m_since);
    }
    GoOn(now);
}

void
ServingShard::GoOn(int64_t now)
{
    if (m_next == m_chain.size())
    {
        End(now);
        return;
    }
    const StageOp& op = m_chain[m_next++];
    const serving::StageLoad& load = m_queue.front().load;
    switch (op.kind)
    {
    case StageOp::Kind::kCompute:
        Compute(op, now);
        return;
    case StageOp::Kind::kReduce:
        Enter(m_tensor, load.ReduceOf(op), m_tags.reduce, now);
        return;
    case StageOp::Kind::kDispatch:
    case StageOp::Kind::kCombine:
        const bool there = op.kind == StageOp::Kind::kDispatch;
        Enter(m_experts, load.ExchangeOf(there), there ? m_tags.dispatch : m_tags.combine, now);
        return;
    }
}

void
ServingShard::Compute(const StageOp& op, int64_t now)
{
    const ShardWork& work = m_queue.front();
    const int64_t tensor = m_tensorWaits.Mean() * op.repeatedReduces;
    const int64_t experts = 2 * m_expertsWaits.Mean() * op.repeatedExchanges;
    const int64_t span = work.load.Span(op) + tensor + experts;
    if (!work.kv.empty() && op.halves > 0)
    {
        // Blocks end at equal distances.
        const uint32_t before = m_halves / 2;
        const uint32_t ends = (m_halves + op.halves) / 2 - before;
        for (uint32_t i = 1; i <= ends; ++i)
        {
            m_events.Schedule(now + span / ends * i, Context(), {What::LAYER, before + i - 1});
        }
    }
    m_halves += op.halves;
    m_tensorWaits.repeated += tensor;
    m_expertsWaits.repeated += experts;
    m_events.Schedule(now + span, Context(), {What::COMPUTED, 0});
}

void
ServingShard::Enter(const Seats& seats, coll::Collective what, uint32_t tag, int64_t now)
{
    what.ranks = seats.ranks;
    m_waiting = static_cast<uint32_t>(m_place.ranks.size());
    m_since = now;
    m_inTensor = &seats == &m_tensor;
    for (const Rank position : seats.positions)
    {
        m_collectives.Start(seats.communicator, position, what, tag, m_place.number, now);
    }
}

void
ServingShard::SendLayer(uint32_t block, int64_t now)
{
    for (const KvLayerSend& send : m_queue.front().kv)
    {
        if (block >= send.firstBlock && block < send.firstBlock + send.blocks)
        {
            m_messages.Send(send.order, send.bytes, m_tags.kv, NOBODY, now);
        }
    }
}

void
ServingShard::End(int64_t now)
{
    const ShardWork work = std::move(m_queue.front());
    m_queue.pop_front();
    if (!m_place.last)
    {
        for (const Rank rank : m_place.ranks)
        {
            m_messages.Send({ACTIVATIONS, rank, rank + m_place.hop, 0},
                            work.load.sendBytes,
                            m_tags.activations,
                            NOBODY,
                            now);
        }
    }
    m_listener.OnShardEnd({m_place.number,
                           work.iteration,
                           now,
                           m_tensorWaits.sum + m_tensorWaits.repeated,
                           m_expertsWaits.sum + m_expertsWaits.repeated});
    m_busy = !m_queue.empty();
    if (m_busy)
    {
        Begin(now);
    }
}

} // namespace dltrain
