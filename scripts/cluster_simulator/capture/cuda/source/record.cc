/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "record.h"

#include "machine.h"
#include "places.h"
#include "settings.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace gpus
{

namespace
{

void
Write(const std::string& line)
{
    static FILE* const file = [] {
        const std::string path =
            TheSettings().records + "/process-" + std::to_string(getpid()) + ".jsonl";
        FILE* made = std::fopen(path.c_str(), "we");
        if (!made)
        {
            Fail(path + ": " + std::strerror(errno));
        }
        // A line at a time: a program may end in any way.
        std::setvbuf(made, nullptr, _IOLBF, 1 << 16);
        return made;
    }();
    std::fputs((line + "\n").c_str(), file);
}

} // namespace

std::string
Quoted(const std::string& text)
{
    std::string quoted = "\"";
    for (const char c : text)
    {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < ' ')
        {
            char code[8];
            std::snprintf(code, sizeof(code), "\\u%04x", byte);
            quoted += code;
        }
        else
        {
            quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
        }
    }
    return quoted + "\"";
}

void
Record(const char* what, const Stream& stream, const std::string& more)
{
    RecordAt(Place(), what, stream, more);
}

void
RecordAt(const std::string& place, const char* what, const Stream& stream, const std::string& more)
{
    Write(std::string("{\"t\": \"") + what + "\", \"g\": " + std::to_string(stream.gpu->number) +
          ", \"s\": " + std::to_string(stream.number) + more + ", \"p\": " + Quoted(place) + "}");
}

void
RecordEvent(const Stream& stream, uint64_t moment)
{
    Write("{\"t\": \"record\", \"g\": " + std::to_string(stream.gpu->number) +
          ", \"s\": " + std::to_string(stream.number) + ", \"e\": " + std::to_string(moment) + "}");
}

void
RecordWait(const Stream& stream, uint64_t moment)
{
    Write("{\"t\": \"wait\", \"g\": " + std::to_string(stream.gpu->number) +
          ", \"s\": " + std::to_string(stream.number) + ", \"e\": " + std::to_string(moment) + "}");
}

void
RecordSync(int gpu, int stream, uint64_t moment)
{
    Write("{\"t\": \"sync\", \"g\": " + std::to_string(gpu) + ", \"s\": " + std::to_string(stream) +
          ", \"e\": " + std::to_string(moment) + ", \"p\": " + Quoted(Place()) + "}");
}

void
RecordMark(const char* which)
{
    Write(std::string("{\"t\": \"mark\", \"which\": \"") + which + "\", \"p\": " + Quoted(Place()) +
          "}");
}

} // namespace gpus
