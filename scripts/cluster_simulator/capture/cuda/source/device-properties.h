/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * cudaDeviceProp as each version of CUDA has it (VERSION: 11000, 12000 or 13000).
 */
#ifndef CUDA_DEVICE_PROPERTIES_H
#define CUDA_DEVICE_PROPERTIES_H

#include "settings.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace gpus
{

/// Members in the order in which the structure of a version has them, with its paddings.
class Layout
{
  public:
    explicit Layout(void* begin)
        : m_at(static_cast<char*>(begin))
    {
    }

    template <class T>
    Layout& Put(T value)
    {
        Align(alignof(T));
        std::memcpy(m_at, &value, sizeof(T));
        m_at += sizeof(T);
        return *this;
    }

    Layout& Zeros(int count)
    {
        for (int i = 0; i < count; ++i)
        {
            Put(0);
        }
        return *this;
    }

    Layout& Bytes(const void* bytes, std::size_t count)
    {
        std::memcpy(m_at, bytes, count);
        m_at += count;
        return *this;
    }

  private:
    void Align(std::size_t to)
    {
        while (reinterpret_cast<uintptr_t>(m_at) % to)
        {
            *m_at++ = 0;
        }
    }

    char* m_at;
};

/// Up to reservedSharedMemPerBlock, which the structure of version 11 ends with.
inline void
Fill(void* properties, int ordinal)
{
    const Settings& s = TheSettings();
    const int gpu = s.visible[static_cast<std::size_t>(ordinal)];
    const bool has13 = VERSION >= 13000;
    char name[256] = {};
    char uuid[16] = {};
    std::snprintf(name, sizeof(name), "%s", s.name.c_str());
    std::snprintf(uuid, sizeof(uuid), "dltrain-%d-%d", s.server, gpu);
    Layout at(properties);
    at.Bytes(name, sizeof(name)).Bytes(uuid, sizeof(uuid)).Zeros(2).Put(0U);
    // What is not told is that of compute capability 8.0 (CUDA C++ Programming Guide, technical
    // specifications per compute capability).
    at.Put<std::size_t>(s.bytes).Put<std::size_t>(49152).Put(65536).Put(32).Put<std::size_t>(
        INT32_MAX);
    at.Put(1024).Put(1024).Put(1024).Put(64).Put(INT32_MAX).Put(65535).Put(65535);
    if (!has13)
    {
        at.Put(1410000); // kHz, of an A100
    }
    at.Put<std::size_t>(65536).Put(s.major).Put(s.minor).Put<std::size_t>(512).Put<std::size_t>(32);
    if (!has13)
    {
        at.Put(1); // deviceOverlap
    }
    at.Put(s.multiprocessors);
    if (!has13)
    {
        at.Put(0); // kernelExecTimeoutEnabled
    }
    at.Put(0).Put(1); // integrated, canMapHostMemory
    // computeMode and textures: 13 has no computeMode, no maxTexture1DLinear.
    at.Zeros(has13 ? 2 : 4).Zeros(2 + 2 + 3 + 2 + 3 + 3 + 1 + 2 + 3 + 2);
    at.Zeros(1 + 2 + 3 + 2 + 3 + 1 + 2).Put<std::size_t>(512); // surfaces
    at.Put(1).Put(1).Put(gpu + 1).Put(0).Put(0).Put(0).Put(3).Put(1);
    if (!has13)
    {
        at.Put(1593000); // memoryClockRate, kHz, of an A100
    }
    at.Put(5120).Put(41943040).Put(0).Put(2048).Put(1).Put(1).Put(1);
    at.Put<std::size_t>(167936).Put(65536).Put(1).Put(0).Put(0).Put(0);
    if (!has13)
    {
        at.Put(2); // singleToDoublePrecisionPerfRatio
    }
    at.Put(0).Put(1).Put(1).Put(1).Put(1);
    if (!has13)
    {
        at.Put(0); // cooperativeMultiDeviceLaunch
    }
    at.Put<std::size_t>(166912).Put(0).Put(0).Put(32).Put(0).Put<std::size_t>(1024);
}

} // namespace gpus

#endif // CUDA_DEVICE_PROPERTIES_H
