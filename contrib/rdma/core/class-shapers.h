/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Rates that priorities of a port may not exceed, each by a token bucket.
 */
#ifndef RDMA_CORE_CLASS_SHAPERS_H
#define RDMA_CORE_CLASS_SHAPERS_H

#include "unit-strings.h"
#include "units.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdma
{

/**
 * A bucket that fills at a rate up to a burst. A frame may go unless the bucket is in debt, and
 * takes all its bytes, which may leave a debt: so the frame need not be known before. In any time t
 * at most rate x t + burst and one frame go.
 *
 * Kept as the time when the bucket is full again: nothing is to be done while time passes.
 */
class TokenBucket
{
  public:
    TokenBucket() = default;

    /// \param rate more than 0
    TokenBucket(BitRate rate, Bytes burst)
        : m_rate(rate),
          m_burst(SerializationTime(burst, rate).ps)
    {
    }

    /// \return from when the next frame may go, ps
    int64_t GetDue() const
    {
        return m_full - m_burst;
    }

    /// A frame goes. \param now ps
    void Charge(Bytes bytes, int64_t now)
    {
        m_full = std::max(m_full, now) + SerializationTime(bytes, m_rate).ps;
    }

  private:
    BitRate m_rate{0};
    int64_t m_burst{0}; //!< what the burst takes at the rate, ps
    int64_t m_full{0};
};

/// By priority; a rate of 0: none.
struct ClassShaper
{
    BitRate rate{0};
    Bytes burst{0};
};

using ClassShapers = std::array<ClassShaper, 8>;

/// Bytes beyond one frame that a shaper lets go at once, unless it is given: `pbs` of the example
/// of SONiC's design (sonic-net/SONiC@91b7a26c, SONiC_QoS_Scheduler_Shaper.md, 3.5.7).
constexpr Bytes kShaperBurst{8192};

/// A port that should have none where its switch has some.
constexpr const char* kNoShapers = "none";

/// In words, for errors.
constexpr const char* kShapersAllowed =
    "none, or a list of priority:rate or priority:rate:burst as 3:25Gbps,4:10Gbps:64KB, "
    "priorities 0 to 7, each once, 10Mbps to 100Tbps, bursts of at most 1GB";

/// \param word "3:25Gbps", "3:25Gbps:64KB"; of JSON also "3=25Gbps" \return whether it is one more
inline bool
ReadShaper(std::string_view word, ClassShapers& shapers)
{
    if (word.size() < 3 || word[0] < '0' || word[0] > '7' || (word[1] != ':' && word[1] != '='))
    {
        return false;
    }
    const std::size_t colon = std::min(word.find(':', 2), word.size());
    const auto rate = ParseBitRate(word.substr(2, colon - 2));
    const auto burst = colon == word.size() ? kShaperBurst : ParseBytes(word.substr(colon + 1));
    ClassShaper& shaper = shapers[static_cast<std::size_t>(word[0] - '0')];
    if (!rate || rate->bps < 10000000 || rate->bps > 100000000000000 || !burst ||
        burst->value > 1000000000 || shaper.rate.bps)
    {
        return false;
    }
    shaper = {*rate, *burst};
    return true;
}

/// \param text as kShapersAllowed has it, or empty \return nothing: it is not
inline std::optional<ClassShapers>
ParseShapers(std::string_view text)
{
    ClassShapers shapers;
    for (std::size_t at = 0; at < text.size() && text != kNoShapers;)
    {
        const std::size_t end = std::min(text.find(',', at), text.size());
        if (!ReadShaper(text.substr(at, end - at), shapers) || end + 1 == text.size())
        {
            return std::nullopt;
        }
        at = end + 1;
    }
    return shapers;
}

} // namespace rdma

#endif // RDMA_CORE_CLASS_SHAPERS_H
