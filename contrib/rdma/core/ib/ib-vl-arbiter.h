/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Arbitration among the data virtual lanes of an output port: InfiniBand Architecture Specification
 * vol. 1, 7.6.9.
 *
 * Two tables of up to 64 entries (VL, weight), high and low priority, each a weighted round robin
 * of its own. A weight counts 64-byte units, each packet rounded up to whole ones. The entry in
 * turn sends while its weight is not used up and its VL can send: the last packet may be longer
 * than what is left of the weight, and nothing is carried over to the entry's next turn (neither
 * debt nor rest). Weight 0 is skipped; a VL may stand in several entries and in both tables; a VL
 * in none never sends.
 *
 * The high table goes first. After `highLimit` x 4,096 bytes of it (counted as weights are, the
 * last packet whole; 0: one packet; 255: no limit) the low table gets an opportunity: one packet of
 * it, if one can be sent. Then, or if none can, the count starts again; it also does whenever a low
 * packet is sent because no high one can be.
 *
 * VL 15 (management) goes before all, then flow-control packets; both are not in here. The arbiter
 * knows eight data VLs; entries of higher VLs are kept in the tables and passed over.
 *
 * Read and written as OpenSM's options have them (its doc/qos-config.txt and
 * doc/QoS_management_in_OpenSM.txt): qos_vlarb_high and qos_vlarb_low "0:64,1:128", qos_high_limit.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_VL_ARBITER_H
#define CONTRIB_RDMA_CORE_IB_IB_VL_ARBITER_H

#include "ib-sizes.h"

#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdma
{

constexpr uint32_t kIbVls = 8;              ///< data VLs that are modelled: VL 0 to 7
constexpr uint32_t kIbVlTableEntries = 64;  ///< of a table at most
constexpr uint8_t kIbHighestDataVl = 14;    ///< of the architecture
constexpr uint8_t kIbUnlimitedHigh = 255;   ///< limit of high priority: none
constexpr uint32_t kIbHighLimitBlocks = 64; ///< 4,096 B in units of 64

struct IbVlWeight
{
    uint8_t vl = 0;     ///< 0 to 14
    uint8_t weight = 0; ///< in 64 bytes; 0: skipped
};

struct IbVlTable
{
    std::array<IbVlWeight, kIbVlTableEntries> entries{};
    uint8_t size = 0;

    /// False if the table is full.
    constexpr bool Add(uint8_t vl, uint8_t weight)
    {
        if (size == kIbVlTableEntries)
        {
            return false;
        }
        entries[size++] = {vl, weight};
        return true;
    }

    /// The modelled VLs that it serves, VL v as bit v.
    constexpr uint8_t Mask() const
    {
        uint8_t mask = 0;
        for (uint8_t i = 0; i < size; ++i)
        {
            if (entries[i].weight > 0 && entries[i].vl < kIbVls)
            {
                mask |= static_cast<uint8_t>(1U << entries[i].vl);
            }
        }
        return mask;
    }
};

/// What ParseIbVlTable accepts, for error messages.
inline constexpr const char* kIbVlTableHelp = "up to 64 pairs VL:weight such as 0:64,1:128, VL 0 "
                                              "to 14, weight 0 to 255 (in 64 bytes; 0: never)";

/// "0:64,1:128", blanks allowed between; empty is a table without entries. Nothing if malformed.
inline std::optional<IbVlTable>
ParseIbVlTable(std::string_view text)
{
    size_t at = 0;
    const auto skip = [&] {
        while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
        {
            ++at;
        }
    };
    const auto number = [&](uint32_t most) -> std::optional<uint8_t> {
        skip();
        const size_t begin = at;
        uint32_t value = 0;
        for (; at < text.size() && at < begin + 3 &&
               std::isdigit(static_cast<unsigned char>(text[at]));
             ++at)
        {
            value = value * 10 + static_cast<uint32_t>(text[at] - '0');
        }
        if (at == begin || value > most)
        {
            return std::nullopt;
        }
        skip();
        return static_cast<uint8_t>(value);
    };
    IbVlTable table;
    skip();
    if (at == text.size())
    {
        return table;
    }
    for (;;)
    {
        const auto vl = number(kIbHighestDataVl);
        if (!vl || at == text.size() || text[at++] != ':')
        {
            return std::nullopt;
        }
        const auto weight = number(255);
        if (!weight || !table.Add(*vl, *weight))
        {
            return std::nullopt;
        }
        if (at == text.size())
        {
            return table;
        }
        if (text[at++] != ',')
        {
            return std::nullopt;
        }
    }
}

/// "0:64,1:128": what ParseIbVlTable reads back.
inline std::string
ToString(const IbVlTable& table)
{
    std::string text;
    for (uint8_t i = 0; i < table.size; ++i)
    {
        text += (i ? "," : "") + std::to_string(table.entries[i].vl) + ":" +
                std::to_string(table.entries[i].weight);
    }
    return text;
}

/// The arbitration of a port.
struct IbVlArbitration
{
    IbVlTable high;
    IbVlTable low;
    uint8_t highLimit = 0; ///< in 4,096 bytes; 0: one packet, 255: no limit

    /// Bit v: VL v can get a turn.
    constexpr uint8_t ServedMask() const
    {
        return high.Mask() | low.Mask();
    }

    /// VLs 0 to vls - 1 (at most 8) alike, in the low table, with the greatest weight of whole
    /// packets of the largest MTU. Assumed.
    static constexpr IbVlArbitration Equal(uint32_t vls)
    {
        IbVlArbitration a;
        for (uint32_t vl = 0; vl < vls && vl < kIbVls; ++vl)
        {
            a.low.Add(static_cast<uint8_t>(vl), 195); // 3 packets of 65 blocks
        }
        return a;
    }

    /// OpenSM's defaults (doc/qos-config.txt): VL 0 with weight 4 in the high table, VLs 1 to 14
    /// with weight 4 in the low one, limit of high priority 0.
    static constexpr IbVlArbitration OpenSm()
    {
        IbVlArbitration a;
        for (uint8_t vl = 0; vl <= kIbHighestDataVl; ++vl)
        {
            a.high.Add(vl, vl == 0 ? 4 : 0);
            a.low.Add(vl, vl == 0 ? 0 : 4);
        }
        return a;
    }
};

/// Chooses the VL of the next packet of a port.
class IbVlArbiter
{
  public:
    IbVlArbiter() = default;

    explicit IbVlArbiter(const IbVlArbitration& tables)
        : m_limit(tables.highLimit == kIbUnlimitedHigh ? UINT32_MAX
                                                       : tables.highLimit * kIbHighLimitBlocks)
    {
        m_high.Set(tables.high);
        m_low.Set(tables.low);
    }

    /// The VL whose packet goes next, and its turn is charged; -1 if none that can send is in a
    /// table.
    ///
    /// \param ready bit v: VL v has a packet, and the credits for it
    /// \param bytes of that packet, LRH to VCRC, by VL; looked at for ready VLs only
    int Next(uint8_t ready, const uint32_t* bytes)
    {
        return Next(ready, [bytes](int vl) { return bytes[vl]; });
    }

    /// The same with the packet's bytes asked for: bytesOf(vl), for the VL that is chosen only.
    template <typename BytesOf>
    auto Next(uint8_t ready, BytesOf&& bytesOf) -> decltype(static_cast<int>(bytesOf(0)))
    {
        const bool high = ready & m_high.mask;
        const bool low = ready & m_low.mask;
        // With limit 0 the first packet spends everything.
        const bool spent = m_highSent > 0 && m_highSent >= m_limit;
        if (high && !(spent && low))
        {
            const int vl = m_high.Choose(ready);
            const uint32_t blocks = IbBlocks(static_cast<uint32_t>(bytesOf(vl)));
            m_high.Charge(blocks);
            if (m_limit != UINT32_MAX)
            {
                m_highSent = spent ? blocks : m_highSent + blocks;
            }
            return vl;
        }
        if (low)
        {
            const int vl = m_low.Choose(ready);
            m_low.Charge(IbBlocks(static_cast<uint32_t>(bytesOf(vl))));
            m_highSent = 0;
            return vl;
        }
        return -1;
    }

    /// Bit v: VL v can get a turn.
    uint8_t ServedMask() const
    {
        return m_high.mask | m_low.mask;
    }

  private:
    /// The round robin of one table. Entries that are never served are left out.
    struct Turns
    {
        std::array<IbVlWeight, kIbVlTableEntries> entries{};
        uint8_t size = 0;
        uint8_t mask = 0;
        uint8_t current = 0;
        int32_t left = 0; ///< of the weight of the current entry

        void Set(const IbVlTable& table)
        {
            mask = table.Mask();
            for (uint8_t i = 0; i < table.size; ++i)
            {
                if (table.entries[i].weight > 0 && table.entries[i].vl < kIbVls)
                {
                    entries[size++] = table.entries[i];
                }
            }
            left = size > 0 ? entries[0].weight : 0;
        }

        /// One of the ready VLs, at least one of which is in the table.
        int Choose(uint8_t ready)
        {
            if (left <= 0 || !(ready >> entries[current].vl & 1))
            {
                do
                {
                    current = static_cast<uint8_t>(current + 1 == size ? 0 : current + 1);
                } while (!(ready >> entries[current].vl & 1));
                left = entries[current].weight;
            }
            return entries[current].vl;
        }

        void Charge(uint32_t blocks)
        {
            left -= static_cast<int32_t>(blocks);
        }
    };

    Turns m_high;
    Turns m_low;
    uint32_t m_limit = 0;    ///< blocks
    uint32_t m_highSent = 0; ///< blocks since the last opportunity of the low table
};

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_VL_ARBITER_H
