/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_ATTRIBUTION_MESSAGE_ID_H
#define REPORTS_ATTRIBUTION_MESSAGE_ID_H

#include <cstdint>

namespace reports
{

/**
 * What the id of a work request tells observers of its message: whoever posts makes it, whoever
 * listens reads it.
 *
 *     63            32 31      30        0
 *     [ flow + 1, or 0 | warm-up | tag ]
 */
struct MessageId
{
    /// Or-ed to a tag: the message belongs to the warm-up. Once a tag has carried it, this mark
    /// alone decides which messages are measured, and not when they are posted: ranks do not leave
    /// the warm-up all at once.
    static constexpr uint32_t WARMUP = 1U << 31;

    /// Messages are numbered in the order of their posts. \param tag index of a name
    static constexpr uint64_t Of(uint32_t tag)
    {
        return tag;
    }

    /// \param flow the number that flows.csv shows
    static constexpr uint64_t Of(uint32_t tag, uint32_t flow)
    {
        return (static_cast<uint64_t>(flow) + 1) << 32 | tag;
    }

    static constexpr bool HasFlow(uint64_t id)
    {
        return id >> 32;
    }

    /// \pre HasFlow
    static constexpr uint32_t Flow(uint64_t id)
    {
        return static_cast<uint32_t>((id >> 32) - 1);
    }

    static constexpr uint32_t Tag(uint64_t id)
    {
        return static_cast<uint32_t>(id) & ~WARMUP;
    }

    static constexpr bool IsWarmup(uint64_t id)
    {
        return id & WARMUP;
    }
};

} // namespace reports

#endif // REPORTS_ATTRIBUTION_MESSAGE_ID_H
