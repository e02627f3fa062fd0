/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Rates of InfiniBand links: what a lane signals, what its coding leaves, and the names of the
 * speeds.
 *
 *           signals (Gb/s a lane)   coding                    carries (Gb/s a lane)    4x
 *   SDR       2.5                   8b/10b                      2                       8
 *   DDR       5                     8b/10b                      4                      16
 *   QDR      10                     8b/10b                      8                      32
 *   FDR10    10.3125                64b/66b                    10                      40
 *   FDR      14.0625                64b/66b                   150/11 = 13.636          54.545
 *   EDR      25.78125               64b/66b                    25                     100
 *   HDR      53.125  (PAM4)         256b/257b, RS(272, 257)    50                     200
 *   NDR     106.25   (PAM4)         256b/257b, RS(272, 257)   100                     400
 *   XDR     212.5    (PAM4)         256b/257b, RS(544, 514)   200                     800
 *
 * From HDR on the coding takes 256/257 x 257/272 = 256/257 x 514/544 = 16/17 of the signalling
 * rate. A Reed-Solomon code on top of 64b/66b (EDR with RS(528, 514)) costs nothing more: 66 bits
 * become 64 + 1/4, and the gain pays for the code: 256/257 x 514/528 = 64/66.
 *
 * Rates are exact rationals of bits per second. A lane's symbol is an octet of data with its coding
 * (10 bits of 8b/10b; assumed to mean the same of the other codings), so a symbol time is 8 over
 * the data rate of a lane, whatever the width.
 *
 * On the line a packet has a start and an end delimiter of one symbol each. Since LRH to ICRC are a
 * multiple of 4 bytes and the VCRC has 2, packet and delimiters fill the columns of 1x, 2x and 4x
 * links; on 8x and 12x links the rest of the last column is filled up. Not counted: skip ordered
 * sets (4 symbols in 4,608 or more: 0.09%) and alignment markers.
 *
 * Sources: InfiniBand Architecture Specification vol. 1, 7.9 (65,536 symbol times) and vol. 2,
 * chapters on link and physical layer (delimiters SDP, SLP, EGP, EBP; 8b/10b, widths);
 * "SB7700/SB7790 user manual", Mellanox, rev. 1.7,
 * 4.1.2 (FDR10, FDR, EDR); InfiniBand Trade Association, "InfiniBand roadmap" (rates of HDR, NDR,
 * XDR); IEEE 802.3 clauses 91, 119 and 134 (Reed-Solomon codes, 256b/257b); 25G/50G Ethernet
 * Consortium, "Low-latency FEC", 2019 (RS(272, 257)); "MLNX-OS User Manual", NVIDIA, v3.11,
 * InfiniBand interface (EDR links have a code only on active cables longer than 30 m and copper
 * longer than 2 m).
 *
 * Codes by speed and width. Which there are: mlxlink's source, Mellanox/mstflint@0376ec4,
 * mlxlink/modules/mlxlink_maps.cpp, initFecAndLoopbackMapping: RS(528,514), "LL" RS(271,257),
 * RS(544,514), the same interleaved (two codewords) and "interleaved quad" (four), "Ethernet
 * Consortium LL 50G" RS(272,257+1); and with "PLR", physical-layer retry, RS(544,514), RS(271,257)
 * and RS(272,257+1). What links report: published outputs of mlxlink, of a ConnectX-6 with
 * "IB-HDR", width 2x: "RS-FEC - (544,514) + PLR"; of a ConnectX-7 with "IB-NDR", width 4x:
 * "Ethernet_Consortium_LL_50G_RS_FEC_PLR -(272,257+1)"; of a ConnectX-7 with "IB-EDR", 4x:
 * "Standard LL RS-FEC - RS(271,257)" (an active cable: see above). HDR on one lane is taken as on
 * two, on four lanes as NDR, NDR on other widths as on four; XDR's RS(544,514) is assumed, and so
 * is the time of a decoder. Retry (PLR) costs time only when a codeword is beyond correction, which
 * these links do not have; so it adds no latency here.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_LINK_H
#define CONTRIB_RDMA_CORE_IB_IB_LINK_H

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/units.h"

#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdma
{

enum class IbSpeed : uint8_t
{
    kSdr,
    kDdr,
    kQdr,
    kFdr10,
    kFdr,
    kEdr,
    kHdr,
    kNdr,
    kXdr,
};

/// A Reed-Solomon code over symbols of 10 bits, or none.
struct IbFec
{
    const char* name;      ///< "none", "RS(272,257)" ...
    uint32_t codewordBits; ///< 0: none; of all codewords that are interleaved
    int64_t decoderPs;     ///< after the whole codeword has come
};

/// Time of coding and correcting: 37 cycles at 1 GHz, as contributions to IEEE P802.3dj count them.
/// Assumed.
constexpr int64_t kIbFecDecoderPs = 37000;

inline constexpr IbFec kIbNoFec{"none", 0, 0};
inline constexpr IbFec kIbRs271{"RS(271,257)", 2710, kIbFecDecoderPs};
inline constexpr IbFec kIbRs272{"RS(272,257)", 2720, kIbFecDecoderPs};
inline constexpr IbFec kIbRs528{"RS(528,514)", 5280, kIbFecDecoderPs};
inline constexpr IbFec kIbRs544{"RS(544,514)", 5440, kIbFecDecoderPs};
inline constexpr IbFec kIbRs544Double{"interleaved RS(544,514)", 2 * 5440, kIbFecDecoderPs};
inline constexpr IbFec kIbRs544Quad{"interleaved quad RS(544,514)", 4 * 5440, kIbFecDecoderPs};

/// A code by the short name that mlxlink's option --fec has for it.
struct IbFecName
{
    const char* name;
    IbFec fec;
};

/// "NF", "RS" ... of mlxlink_maps.cpp, _fecModeMask.
inline constexpr std::array<IbFecName, 7> kIbFecNames = {{
    {"NF", kIbNoFec},
    {"RS", kIbRs528},
    {"LL", kIbRs271},
    {"LL-272", kIbRs272},
    {"RS-544", kIbRs544},
    {"DF-RS", kIbRs544Double},
    {"RS-544Q", kIbRs544Quad},
}};

/// A generation of links: one lane of it.
struct IbGeneration
{
    IbSpeed speed;
    const char* name;
    uint64_t signallingBps; ///< of a lane
    uint32_t codingNumerator;
    uint32_t codingDenominator;
    const char* coding;
    bool pam4;
    IbFec fec; ///< of links of four lanes as they are usually run
};

inline constexpr std::array<IbGeneration, 9> kIbGenerations = {{
    {IbSpeed::kSdr, "SDR", 2500000000ULL, 8, 10, "8b/10b", false, kIbNoFec},
    {IbSpeed::kDdr, "DDR", 5000000000ULL, 8, 10, "8b/10b", false, kIbNoFec},
    {IbSpeed::kQdr, "QDR", 10000000000ULL, 8, 10, "8b/10b", false, kIbNoFec},
    {IbSpeed::kFdr10, "FDR10", 10312500000ULL, 64, 66, "64b/66b", false, kIbNoFec},
    {IbSpeed::kFdr, "FDR", 14062500000ULL, 64, 66, "64b/66b", false, kIbNoFec},
    {IbSpeed::kEdr, "EDR", 25781250000ULL, 64, 66, "64b/66b", false, kIbNoFec},
    {IbSpeed::kHdr, "HDR", 53125000000ULL, 16, 17, "256b/257b with RS-FEC", true, kIbRs272},
    {IbSpeed::kNdr, "NDR", 106250000000ULL, 16, 17, "256b/257b with RS-FEC", true, kIbRs272},
    {IbSpeed::kXdr, "XDR", 212500000000ULL, 16, 17, "256b/257b with RS-FEC", true, kIbRs544},
}};

constexpr const IbGeneration&
GenerationOf(IbSpeed speed)
{
    return kIbGenerations[static_cast<size_t>(speed)];
}

/// An exact rate: numerator / denominator bits per second.
struct IbExactRate
{
    uint64_t numerator;
    uint64_t denominator;
};

constexpr uint32_t kIbDelimiterBytes = 2; ///< start and end delimiter, one symbol each
constexpr uint32_t kIbCreditTimeoutSymbols =
    65536; ///< a flow-control packet for each VL at least this often
inline constexpr uint8_t kIbWidths[] = {1, 2, 4, 8, 12}; ///< lanes of a link

constexpr bool
IsIbWidth(uint32_t width)
{
    for (const uint8_t w : kIbWidths)
    {
        if (w == width)
        {
            return true;
        }
    }
    return false;
}

/// A link: speed of its lanes and their number.
struct IbLink
{
    IbSpeed speed = IbSpeed::kEdr;
    uint8_t width = 4; ///< one of kIbWidths

    /// Bits a second before decoding.
    constexpr BitRate SignallingRate() const
    {
        return BitRate(GenerationOf(speed).signallingBps * width);
    }

    /// Bits of packets and delimiters a second.
    constexpr IbExactRate ExactRate() const
    {
        const IbGeneration& g = GenerationOf(speed);
        return {g.signallingBps * width * g.codingNumerator, g.codingDenominator};
    }

    /// The same to the nearest bit a second: off by less than 2e-11 of it, and by nothing but for
    /// FDR.
    constexpr BitRate Rate() const
    {
        const IbExactRate r = ExactRate();
        return BitRate((r.numerator + r.denominator / 2) / r.denominator);
    }

    /// Time on the line of `bytes`, delimiters among them, to the nearest picosecond (half up).
    constexpr Duration SerializationTime(Bytes bytes) const
    {
        const IbExactRate r = ExactRate();
        const unsigned __int128 bits =
            static_cast<unsigned __int128>(bytes.value) * 8 * 1000000000000ULL * r.denominator;
        return Duration(static_cast<int64_t>((bits + r.numerator / 2) / r.numerator));
    }

    /// Time of `symbols` octets on one lane, to the nearest picosecond.
    constexpr Duration SymbolTimes(uint64_t symbols) const
    {
        return IbLink{speed, 1}.SerializationTime(Bytes(symbols));
    }

    /// Longest time between two flow-control packets of a VL: 65,536 symbol times.
    constexpr Duration CreditTimeout() const
    {
        return SymbolTimes(kIbCreditTimeoutSymbols);
    }

    /// Bytes of line that a packet takes, delimiters and filling of the last column included.
    /// `packetBytes` are those from LRH to VCRC, or 6 of a flow-control packet.
    constexpr uint64_t LineBytes(uint64_t packetBytes) const
    {
        const uint64_t bytes = packetBytes + kIbDelimiterBytes;
        return (bytes + width - 1) / width * width;
    }

    /// What a code adds to the delay of the link: a receiver needs the whole codeword before it can
    /// correct, and then its decoder's time. The codeword goes over all lanes. Without an argument
    /// the generation's usual code.
    constexpr Duration FecLatency(const IbFec& fec) const
    {
        if (fec.codewordBits == 0)
        {
            return Duration(0);
        }
        const uint64_t bps = SignallingRate().bps;
        const uint64_t codeword = (fec.codewordBits * 1000000000000ULL + bps / 2) / bps;
        return Duration(static_cast<int64_t>(codeword) + fec.decoderPs);
    }

    /// The code that links of this speed and width usually have.
    constexpr IbFec Fec() const
    {
        return speed == IbSpeed::kHdr && width <= 2 ? kIbRs544 : GenerationOf(speed).fec;
    }

    constexpr Duration FecLatency() const
    {
        return FecLatency(Fec());
    }
};

constexpr bool
operator==(IbLink a, IbLink b)
{
    return a.speed == b.speed && a.width == b.width;
}

constexpr bool
operator!=(IbLink a, IbLink b)
{
    return !(a == b);
}

/// What error correction adds to the delay of a link of which only the rate is known. \param nic
/// what links of its rate are; others are of four lanes, and have no code if no generation has
/// their rate. \param fec of all links; null: the usual ones
inline Duration
IbFecDelay(BitRate rate, IbLink nic, const IbFec* fec = nullptr)
{
    const auto of = [&](IbLink link) { return fec ? link.FecLatency(*fec) : link.FecLatency(); };
    if (nic.Rate() == rate)
    {
        return of(nic);
    }
    for (const IbGeneration& g : kIbGenerations)
    {
        const IbLink cable{g.speed, 4};
        if (cable.Rate() == rate)
        {
            return of(cable);
        }
    }
    return Duration(0);
}

/// A name of a link besides SPEED and SPEED-WIDTHx.
struct IbLinkAlias
{
    const char* name;
    IbLink link;
};

/// Names that makers use: the speed followed by Gb/s of the whole port.
inline constexpr std::array<IbLinkAlias, 12> kIbLinkAliases = {{
    {"FDR-10", {IbSpeed::kFdr10, 4}},
    {"QDR40", {IbSpeed::kQdr, 4}},
    {"FDR56", {IbSpeed::kFdr, 4}},
    {"EDR100", {IbSpeed::kEdr, 4}},
    {"HDR50", {IbSpeed::kHdr, 1}},
    {"HDR100", {IbSpeed::kHdr, 2}},
    {"HDR200", {IbSpeed::kHdr, 4}},
    {"NDR100", {IbSpeed::kNdr, 1}},
    {"NDR200", {IbSpeed::kNdr, 2}},
    {"NDR400", {IbSpeed::kNdr, 4}},
    {"XDR400", {IbSpeed::kXdr, 2}},
    {"XDR800", {IbSpeed::kXdr, 4}},
}};

/// What ParseIbLink accepts, for error messages.
inline constexpr const char* kIbLinkHelp = "SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR (4x), "
                                           "with a width such as EDR-1x, -2x, -4x, -8x or -12x, or "
                                           "HDR100, NDR200";

/// The link of a name, case ignored: "EDR" (4x), "EDR-12x", "HDR100" (2x). Nothing if there is
/// none.
inline std::optional<IbLink>
ParseIbLink(std::string_view name)
{
    for (const IbLinkAlias& alias : kIbLinkAliases)
    {
        if (SameName(alias.name, name))
        {
            return alias.link;
        }
    }
    uint32_t width = 4;
    const size_t dash = name.find('-');
    if (dash != std::string_view::npos)
    {
        std::string_view digits = name.substr(dash + 1);
        if (digits.size() < 2 || digits.size() > 3 ||
            std::tolower(static_cast<unsigned char>(digits.back())) != 'x')
        {
            return std::nullopt;
        }
        digits.remove_suffix(1);
        width = 0;
        for (const char c : digits)
        {
            if (!std::isdigit(static_cast<unsigned char>(c)))
            {
                return std::nullopt;
            }
            width = width * 10 + static_cast<uint32_t>(c - '0');
        }
        if (digits.front() == '0' || !IsIbWidth(width))
        {
            return std::nullopt;
        }
        name = name.substr(0, dash);
    }
    for (const IbGeneration& g : kIbGenerations)
    {
        if (SameName(g.name, name))
        {
            return IbLink{g.speed, static_cast<uint8_t>(width)};
        }
    }
    return std::nullopt;
}

/// All names that ParseIbLink knows: the generations, the makers' names, every generation in every
/// width.
inline std::vector<std::string>
IbLinkNames()
{
    std::vector<std::string> names;
    for (const IbGeneration& g : kIbGenerations)
    {
        names.emplace_back(g.name);
    }
    for (const IbLinkAlias& alias : kIbLinkAliases)
    {
        names.emplace_back(alias.name);
    }
    for (const IbGeneration& g : kIbGenerations)
    {
        for (const uint8_t width : kIbWidths)
        {
            names.push_back(std::string(g.name) + "-" + std::to_string(width) + "x");
        }
    }
    return names;
}

/// The name that a wrong one was probably meant to be; empty if none is near.
inline std::string
NearestIbLinkName(std::string_view name)
{
    return NearestName(name, IbLinkNames());
}

/// "EDR-4x": what ParseIbLink reads back.
inline std::string
ToString(IbLink link)
{
    return std::string(GenerationOf(link.speed).name) + "-" + std::to_string(link.width) + "x";
}

/// A kind of NIC for lists of options: its name, its link, a line about it.
struct IbNicKind
{
    const char* name;
    IbLink link;
    const char* description;
};

inline constexpr std::array<IbNicKind, 11> kIbNicKinds = {{
    {"SDR", {IbSpeed::kSdr, 4}, "4x 2.5 Gb/s, 8b/10b: 8 Gb/s of data"},
    {"DDR", {IbSpeed::kDdr, 4}, "4x 5 Gb/s, 8b/10b: 16 Gb/s of data"},
    {"QDR", {IbSpeed::kQdr, 4}, "4x 10 Gb/s, 8b/10b: 32 Gb/s of data"},
    {"FDR10", {IbSpeed::kFdr10, 4}, "4x 10.3125 Gb/s, 64b/66b: 40 Gb/s of data"},
    {"FDR", {IbSpeed::kFdr, 4}, "4x 14.0625 Gb/s, 64b/66b: 54.5 Gb/s of data"},
    {"EDR", {IbSpeed::kEdr, 4}, "4x 25.78125 Gb/s, 64b/66b: 100 Gb/s of data"},
    {"HDR100", {IbSpeed::kHdr, 2}, "2x 53.125 Gb/s, RS-FEC: 100 Gb/s of data"},
    {"HDR", {IbSpeed::kHdr, 4}, "4x 53.125 Gb/s, RS-FEC: 200 Gb/s of data"},
    {"NDR200", {IbSpeed::kNdr, 2}, "2x 106.25 Gb/s, RS-FEC: 200 Gb/s of data"},
    {"NDR", {IbSpeed::kNdr, 4}, "4x 106.25 Gb/s, RS-FEC: 400 Gb/s of data"},
    {"XDR", {IbSpeed::kXdr, 4}, "4x 212.5 Gb/s, RS-FEC: 800 Gb/s of data"},
}};

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_LINK_H
