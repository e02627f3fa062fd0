/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Congestion controls that have every packet acknowledged, whatever --ack-every says (their
 * GetNeeds() has ACK_PER_PACKET), so that plans know how many ACKs a run will have. Each such law's
 * header says it of itself, or of one of its presets:
 *
 *   inline const AnswersEachPacket kSwiftAnswers{"swift"};
 */
#ifndef RDMA_CORE_ANSWERED_PACKETS_H
#define RDMA_CORE_ANSWERED_PACKETS_H

#include <set>
#include <string>
#include <utility>

namespace rdma
{

/// Makes it known of a congestion control while it lives.
class AnswersEachPacket
{
  public:
    /// \param preset the only one with which it does; empty: it does with all
    explicit AnswersEachPacket(std::string control, std::string preset = "")
        : m_key(std::move(control), std::move(preset))
    {
        All().insert(m_key);
    }

    AnswersEachPacket(const AnswersEachPacket&) = delete;
    AnswersEachPacket& operator=(const AnswersEachPacket&) = delete;

    ~AnswersEachPacket()
    {
        All().erase(m_key);
    }

    /// \return whether the congestion control of this name does, with this preset
    static bool Is(const std::string& control, const std::string& preset)
    {
        return All().count({control, ""}) > 0 || All().count({control, preset}) > 0;
    }

  private:
    using Key = std::pair<std::string, std::string>;

    static std::set<Key>& All()
    {
        // Never destroyed: laws of several shared libraries leave it, in whatever order these end.
        static auto& all = *new std::set<Key>;
        return all;
    }

    Key m_key;
};

} // namespace rdma

#endif // RDMA_CORE_ANSWERED_PACKETS_H
