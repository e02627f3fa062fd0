/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Of the tests that put random traffic through a SharedBuffer: a frame that it holds.
 */
#ifndef TESTS_UNIT_CORE_BUFFER_FRAME_H
#define TESTS_UNIT_CORE_BUFFER_FRAME_H

#include <cstdint>

struct BufferFrame
{
    uint32_t port; ///< that it came by
    uint8_t priority;
    uint32_t bytes;
    uint32_t egress;
};

#endif // TESTS_UNIT_CORE_BUFFER_FRAME_H
