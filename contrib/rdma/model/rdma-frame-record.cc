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

} // namespace

uint8_t*
RdmaFrameRecord::Write(uint8_t* to, const RdmaFrame& frame, uint32_t link, int64_t at, int64_t base)
{
    NS_ABORT_MSG_IF(at < base, "a frame would arrive before the message it is in");
    to = PutNumber(to, static_cast<uint64_t>(at - base));
    to = PutNumber(to, link);
    to = PutNumber(to, frame.src);
    to = PutNumber(to, frame.dst);
    to = PutBytes(to, frame.route.GetFlowHash(), 4);
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
    return to;
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
    link = static_cast<uint32_t>(reader.Number());
    frame.src = static_cast<uint32_t>(reader.Number());
    frame.dst = static_cast<uint32_t>(reader.Number());
    frame.route = RdmaRoute::OfFlow(reader.Bytes(4));
    frame.destQp = reader.Bytes(3);
    frame.psn = reader.Bytes(3);
    frame.aux = static_cast<uint32_t>(reader.Number());
    frame.dmaLength = static_cast<uint32_t>(reader.Number());
    frame.wireBytes = static_cast<uint32_t>(reader.Number());
    frame.payload = static_cast<uint16_t>(reader.Number());
    frame.inPort = 0;
    frame.opcode = static_cast<RdmaOpcode>(reader.Byte());
    frame.priority = reader.Byte();
    frame.flags = reader.Byte();
    frame.classEnable = reader.Byte();
    return reader.at;
}

} // namespace ns3
