/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-frame-record.h"

#include "ns3/abort.h"

namespace ns3
{

namespace
{

uint8_t*
PutNumber(uint8_t* to, uint64_t value)
{
    while (value >= 0x80)
    {
        *to++ = static_cast<uint8_t>(value | 0x80);
        value >>= 7;
    }
    *to++ = static_cast<uint8_t>(value);
    return to;
}

uint8_t*
PutBytes(uint8_t* to, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; ++i)
    {
        *to++ = static_cast<uint8_t>(value >> 8 * i);
    }
    return to;
}

/// Reads what the functions above wrote.
struct Reader
{
    const uint8_t* at;
    const uint8_t* end;

    uint8_t Byte()
    {
        NS_ABORT_MSG_IF(at == end, "a message from another process is cut off");
        return *at++;
    }

    uint64_t Number()
    {
        uint64_t value = 0;
        for (int shift = 0;; shift += 7)
        {
            const uint8_t byte = Byte();
            value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80 || shift > 56)
            {
                return value;
            }
        }
    }

    uint32_t Bytes(int bytes)
    {
        uint32_t value = 0;
        for (int i = 0; i < bytes; ++i)
        {
            value |= static_cast<uint32_t>(Byte()) << 8 * i;
        }
        return value;
    }
};

// A time is told as how long before the arrival it was: of frames that have just been sent a few
// bytes. Unsigned, so that any number comes back as it was.

uint64_t
Before(int64_t at, int64_t time)
{
    return static_cast<uint64_t>(at) - static_cast<uint64_t>(time);
}

int64_t
TimeBefore(int64_t at, uint64_t before)
{
    return static_cast<int64_t>(static_cast<uint64_t>(at) - before);
}

constexpr uint8_t COLLECTS = 0x80; //!< in the byte of the number of hops
constexpr uint8_t HAS_PINT = 0x40; //!< the same

static_assert(RdmaTelemetry::MAX_HOPS < HAS_PINT, "hops and COLLECTS share a byte");

uint8_t*
PutTelemetry(uint8_t* to, const RdmaTelemetry& telemetry, int64_t at)
{
    *to++ = static_cast<uint8_t>(telemetry.hops | (telemetry.collects ? COLLECTS : 0) |
                                 (telemetry.pintPeriod ? HAS_PINT : 0));
    *to++ = telemetry.switches;
    to = PutNumber(to, Before(at, telemetry.sent));
    to = PutNumber(to, static_cast<uint64_t>(telemetry.held));
    if (telemetry.pintPeriod)
    {
        to = PutNumber(to, static_cast<uint64_t>(telemetry.pintPeriod));
        *to++ = telemetry.pint;
    }
    for (uint32_t i = 0; i < telemetry.hops; ++i)
    {
        const RdmaTelemetry::Hop& hop = telemetry.hop[i];
        to = PutNumber(to, Before(at, hop.time));
        to = PutNumber(to, hop.txBytes);
        to = PutNumber(to, hop.queueBytes);
        to = PutNumber(to, hop.rateBps);
    }
    return to;
}

void
ReadTelemetry(Reader& reader, RdmaTelemetry& telemetry, int64_t at)
{
    const uint8_t hops = reader.Byte();
    telemetry.collects = hops & COLLECTS;
    telemetry.hops = hops & ~(COLLECTS | HAS_PINT);
    NS_ABORT_MSG_IF(telemetry.hops > RdmaTelemetry::MAX_HOPS,
                    "a frame from another process, of too many hops");
    telemetry.switches = reader.Byte();
    telemetry.sent = TimeBefore(at, reader.Number());
    telemetry.held = static_cast<int64_t>(reader.Number());
    telemetry.pintPeriod = hops & HAS_PINT ? static_cast<int64_t>(reader.Number()) : 0;
    telemetry.pint = hops & HAS_PINT ? reader.Byte() : 0;
    for (uint32_t i = 0; i < telemetry.hops; ++i)
    {
        RdmaTelemetry::Hop& hop = telemetry.hop[i];
        hop.time = TimeBefore(at, reader.Number());
        hop.txBytes = reader.Number();
        hop.queueBytes = reader.Number();
        hop.rateBps = reader.Number();
    }
}

} // namespace

uint8_t*
RdmaFrameRecord::Write(uint8_t* to, const RdmaFrame& frame, uint32_t link, int64_t at, int64_t base)
{
    NS_ABORT_MSG_IF(at < base, "a frame would arrive before the message it is in");
    to = PutNumber(to, static_cast<uint64_t>(at - base));
    const bool hasTelemetry = frame.extra && frame.extra->hasTelemetry;
    const bool hasTag = frame.extra && frame.extra->hasTag;
    const bool hasRank = frame.extra && frame.extra->rank;
    to = PutNumber(to, uint64_t{link} << 3 | hasRank << 2 | hasTag << 1 | hasTelemetry);
    to = PutNumber(to, frame.src);
    to = PutNumber(to, frame.dst);
    to = PutBytes(to, frame.route.GetKey(), 4);
    to = PutBytes(to, frame.destQp, 3);
    to = PutBytes(to, frame.psn, 3);
    to = PutNumber(to, frame.aux);
    to = PutNumber(to, frame.dmaLength);
    to = PutNumber(to, frame.wireBytes);
    to = PutNumber(to, frame.payload);
    *to++ = static_cast<uint8_t>(frame.opcode);
    *to++ = frame.priority;
    *to++ = frame.flags;
    *to++ = frame.classEnable;
    if (hasTag)
    {
        const RdmaFrameTag& tag = frame.extra->tag;
        to = PutBytes(to, tag.port, 2);
        to = PutBytes(to, tag.told, 2);
        *to++ = tag.congestion;
        *to++ = tag.toldCongestion;
        *to++ = tag.kind;
        *to++ = tag.phase;
        to = PutNumber(to, tag.epoch);
        to = PutNumber(to, static_cast<uint64_t>(tag.sent));
        to = PutNumber(to, static_cast<uint64_t>(tag.tail));
    }
    if (hasRank)
    {
        to = PutBytes(to, frame.extra->rank, 4);
    }
    return hasTelemetry ? PutTelemetry(to, frame.extra->telemetry, at) : to;
}

const uint8_t*
RdmaFrameRecord::Read(const uint8_t* from,
                      const uint8_t* end,
                      RdmaFrame& frame,
                      uint32_t& link,
                      int64_t& at,
                      int64_t base)
{
    Reader reader{from, end};
    at = base + static_cast<int64_t>(reader.Number());
    const uint64_t tagged = reader.Number();
    link = static_cast<uint32_t>(tagged >> 3);
    frame.src = static_cast<uint32_t>(reader.Number());
    frame.dst = static_cast<uint32_t>(reader.Number());
    frame.route = RdmaRoute::OfFlow(reader.Bytes(4)); // or of LIDs: the same bits
    frame.destQp = reader.Bytes(3);
    frame.psn = reader.Bytes(3);
    frame.SetLabel(RdmaFrame::NO_LABEL);
    frame.aux = static_cast<uint32_t>(reader.Number());
    frame.dmaLength = static_cast<uint32_t>(reader.Number());
    frame.wireBytes = static_cast<uint32_t>(reader.Number());
    frame.payload = static_cast<uint16_t>(reader.Number());
    frame.inPort = 0;
    frame.opcode = static_cast<RdmaOpcode>(reader.Byte());
    frame.priority = reader.Byte();
    frame.flags = reader.Byte();
    frame.classEnable = reader.Byte();
    if (tagged & 7)
    {
        frame.extra = RdmaFramePool::Get().AllocateExtra();
    }
    if (tagged & 2)
    {
        frame.extra->hasTag = true;
        RdmaFrameTag& tag = frame.extra->tag;
        tag.port = static_cast<uint16_t>(reader.Bytes(2));
        tag.told = static_cast<uint16_t>(reader.Bytes(2));
        tag.congestion = reader.Byte();
        tag.toldCongestion = reader.Byte();
        tag.kind = reader.Byte();
        tag.phase = reader.Byte();
        tag.epoch = static_cast<uint32_t>(reader.Number());
        tag.sent = static_cast<int64_t>(reader.Number());
        tag.tail = static_cast<int64_t>(reader.Number());
    }
    if (tagged & 4)
    {
        frame.extra->rank = reader.Bytes(4);
    }
    if (tagged & 1)
    {
        frame.extra->hasTelemetry = true;
        ReadTelemetry(reader, frame.extra->telemetry, at);
    }
    return reader.at;
}

} // namespace ns3
