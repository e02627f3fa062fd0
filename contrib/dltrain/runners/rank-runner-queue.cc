/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RankRunner: collectives that wait in a queue.
 */
#include "rank-runner.h"

namespace dltrain
{

using training::TaskId;

void
RankRunner::SetQueue(const training::CollectiveQueueSpec& spec)
{
    std::vector<uint32_t> communicators;
    std::vector<bool> leads;
    for (const Seat& seat : m_seats)
    {
        communicators.push_back(seat.communicator);
        leads.push_back(seat.group && seat.position == 0);
    }
    m_queue = std::make_unique<CollectiveQueue>(spec, communicators, leads);
}

void
RankRunner::TryQueue(int64_t now)
{
    while (const std::optional<TaskId> id = m_queue->Next(now))
    {
        Start(*id, now);
    }
    if (!m_choosing && m_queue->MayChoose())
    {
        // What else becomes ready at this time is chosen from, too.
        m_choosing = true;
        m_events.Schedule(now, m_services.collectives->ContextOf(m_rank), CHOOSING);
    }
}

void
RankRunner::Choose(int64_t now)
{
    m_choosing = false;
    if (m_speed && StandsStill(now))
    {
        return; // GoOn comes back to it
    }
    for (const CollectiveChoice& choice : m_queue->Choose())
    {
        m_listener.OnChoice(choice);
    }
}

void
RankRunner::OnTold(const CollectiveChoice& choice, int64_t now)
{
    m_queue->OnTold(choice);
    if (!m_aborted && m_left > 0 && !(m_speed && StandsStill(now)))
    {
        TryQueue(now);
    }
}

} // namespace dltrain
