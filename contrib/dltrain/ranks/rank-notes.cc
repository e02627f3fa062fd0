/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-notes.h"

#include "ns3/abort.h"
#include "ns3/node-windows.h"
#include "ns3/rdma-event.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

namespace dltrain
{

using ns3::NodeWindows;

namespace
{

/// Says nothing, but makes ranks agree once more: the first one may have decided something by then.
constexpr char URGENT[] = "\2";

} // namespace

RankNotes::RankNotes(ns3::NodeWindowRanks& ranks)
    : m_ranks(ranks),
      m_reader(ranks.AddReader(
          [this](uint32_t, const uint8_t* at, const uint8_t* end) { Read(at, end); }))
{
    m_ranks.SetAllRead([this] { HearAll(); });
}

bool
RankNotes::IsWord(const std::string& word)
{
    return word == URGENT;
}

uint16_t
RankNotes::AddHearer(Hearer hear)
{
    m_hearers.push_back(std::move(hear));
    return static_cast<uint16_t>(m_hearers.size() - 1);
}

void
RankNotes::TellBytes(uint16_t kind, const void* bytes, std::size_t size, bool urgent)
{
    const NodeWindows& windows = *NodeWindows::Active();
    const Head head{ns3::RdmaClock::Now(), windows.GetNoteContext(), m_place, kind, {}};
    m_bytes.resize(sizeof(head) + size);
    std::memcpy(m_bytes.data(), &head, sizeof(head));
    std::memcpy(m_bytes.data() + sizeof(head), bytes, size);
    m_ranks.Post(0, m_reader, m_bytes.data(), m_bytes.size());
    if (urgent)
    {
        m_ranks.Say(URGENT);
    }
}

void
RankNotes::Read(const uint8_t* at, const uint8_t* end)
{
    Heard heard;
    NS_ABORT_MSG_IF(static_cast<std::size_t>(end - at) < sizeof(heard.head),
                    "a note from another process is cut off");
    std::memcpy(&heard.head, at, sizeof(heard.head));
    heard.payload = at + sizeof(heard.head);
    m_heard.push_back(heard);
}

void
RankNotes::HearAll()
{
    if (m_heard.empty())
    {
        return;
    }
    // Each rank's are in order, as its own notes are told; of equal ones the lower rank's come
    // first, as a stable sort leaves them.
    std::stable_sort(m_heard.begin(), m_heard.end(), [](const Heard& a, const Heard& b) {
        return std::tie(a.head.time, a.head.context, a.head.place) <
               std::tie(b.head.time, b.head.context, b.head.place);
    });
    // A hearer may tell something itself, but that is read later.
    for (const Heard& heard : m_heard)
    {
        m_time = heard.head.time;
        m_hearers[heard.head.kind](heard.payload);
    }
    m_heard.clear();
}

} // namespace dltrain
