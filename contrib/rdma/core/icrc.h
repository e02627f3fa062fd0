/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The invariant CRC of RoCEv2 over IPv4: Ethernet's CRC-32 (IEEE 802.3 clause 3.2.9: polynomial
 * 0x04C11DB7, bits reflected, all ones before and inverted after) over everything from the IPv4
 * header to the padding, with what routers change replaced by ones (InfiniBand Architecture
 * Specification vol. 1, 7.8.1 and annex A17):
 *
 *   8 bytes of ones (in place of the InfiniBand LRH), IPv4 with type of service, time to live and
 *   header checksum all ones, UDP with the checksum all ones, BTH with its fifth byte (FECN, BECN,
 *   6 reserved bits) all ones, the rest.
 *
 * On the wire the least significant byte comes first, as in Ethernet's FCS.
 */
#ifndef RDMA_CORE_ICRC_H
#define RDMA_CORE_ICRC_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rdma
{

namespace detail
{

using Crc32Tables = std::array<std::array<uint32_t, 256>, 8>;

/// Table k holds the CRC of each byte followed by k bytes of zeros, so that eight bytes are taken
/// at once.
constexpr Crc32Tables
MakeCrc32Tables()
{
    Crc32Tables tables{};
    for (uint32_t byte = 0; byte < 256; ++byte)
    {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit)
        {
            crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320U : 0);
        }
        tables[0][byte] = crc;
    }
    for (size_t k = 1; k < 8; ++k)
    {
        for (uint32_t byte = 0; byte < 256; ++byte)
        {
            const uint32_t before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
        }
    }
    return tables;
}

inline constexpr Crc32Tables kCrc32Tables = MakeCrc32Tables();

} // namespace detail

/// A CRC-32 built up over several pieces.
class Crc32
{
  public:
    void Add(const uint8_t* data, size_t length)
    {
        const auto& t = detail::kCrc32Tables;
        uint32_t crc = m_crc;
        for (; length >= 8; data += 8, length -= 8)
        {
            crc ^= data[0] | static_cast<uint32_t>(data[1]) << 8 |
                   static_cast<uint32_t>(data[2]) << 16 | static_cast<uint32_t>(data[3]) << 24;
            crc = t[7][crc & 0xff] ^ t[6][crc >> 8 & 0xff] ^ t[5][crc >> 16 & 0xff] ^
                  t[4][crc >> 24] ^ t[3][data[4]] ^ t[2][data[5]] ^ t[1][data[6]] ^ t[0][data[7]];
        }
        for (; length > 0; ++data, --length)
        {
            crc = (crc >> 8) ^ t[0][(crc ^ *data) & 0xff];
        }
        m_crc = crc;
    }

    uint32_t Value() const
    {
        return ~m_crc;
    }

  private:
    uint32_t m_crc = 0xffffffffU;
};

/// The ICRC of a RoCEv2 packet from its IPv4 header (without options) to the end of its padding;
/// `length` is without the ICRC and at least the 40 bytes of IPv4, UDP and BTH.
inline uint32_t
RoceIcrc(const uint8_t* ipv4, size_t length)
{
    constexpr size_t kHeaders = 20 + 8 + 12;
    std::array<uint8_t, 8 + kHeaders> masked;
    std::memset(masked.data(), 0xff, 8);
    uint8_t* ip = masked.data() + 8;
    std::memcpy(ip, ipv4, kHeaders);
    ip[1] = 0xff;           // type of service: DSCP and ECN
    ip[8] = 0xff;           // time to live
    ip[10] = ip[11] = 0xff; // header checksum
    ip[26] = ip[27] = 0xff; // UDP checksum
    ip[32] = 0xff;          // BTH: FECN, BECN and reserved
    Crc32 crc;
    crc.Add(masked.data(), masked.size());
    crc.Add(ipv4 + kHeaders, length - kHeaders);
    return crc.Value();
}

} // namespace rdma

#endif // RDMA_CORE_ICRC_H
