/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "machine.h"

#include "clock.h"
#include "places.h"
#include "record.h"
#include "wire.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <sstream>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpus
{

namespace
{

class Timed : public Work
{
  public:
    Timed(Time duration, std::function<void()> effect)
        : m_duration(duration),
          m_effect(std::move(effect))
    {
    }

    Ran Run(Stream& stream) override
    {
        if (m_effect)
        {
            m_effect();
        }
        stream.ready = std::max(stream.ready, issued) + m_duration;
        return Ran::kDone;
    }

  private:
    const Time m_duration;
    const std::function<void()> m_effect;
};

class Reaching : public Work
{
  public:
    explicit Reaching(std::shared_ptr<Moment> moment)
        : m_moment(std::move(moment))
    {
    }

    Ran Run(Stream& stream) override
    {
        stream.ready = std::max(stream.ready, issued);
        m_moment->at = stream.ready;
        m_moment->reached = true;
        return Ran::kDone;
    }

  private:
    const std::shared_ptr<Moment> m_moment;
};

class Waiting : public Work
{
  public:
    explicit Waiting(std::shared_ptr<Moment> moment)
        : m_moment(std::move(moment))
    {
    }

    Ran Run(Stream& stream) override
    {
        if (!m_moment->reached)
        {
            return Ran::kWaits;
        }
        stream.ready = std::max(stream.ready, m_moment->at);
        return Ran::kDone;
    }

  private:
    const std::shared_ptr<Moment> m_moment;
};

class Calling : public Work
{
  public:
    Ran Run(Stream& stream) override
    {
        stream.ready = std::max(stream.ready, issued);
        return Ran::kCallback;
    }
};

} // namespace

int&
CurrentOrdinal()
{
    thread_local int ordinal = 0;
    return ordinal;
}

void
Note(const std::string& text)
{
    static std::mutex mutex;
    static auto& said = *new std::set<std::string>;
    const std::lock_guard<std::mutex> lock(mutex);
    if (said.insert(text).second)
    {
        Tell("note " + Word(text));
    }
}

Machine&
Machine::Get()
{
    // Never destroyed: the program's other threads may still be at work when it ends.
    static Machine& machine = *new Machine;
    return machine;
}

Machine::Machine()
{
    const Settings& settings = TheSettings();
    m_gpus.resize(static_cast<std::size_t>(settings.gpus));
    for (int i = 0; i < settings.gpus; ++i)
    {
        Gpu& gpu = m_gpus[static_cast<std::size_t>(i)];
        gpu.number = i;
        gpu.streams.push_back(std::make_unique<Stream>());
        gpu.streams.back()->gpu = &gpu;
        gpu.nextStream = 1;
    }
    Connect([this](const std::string& line) { Take(line); });
    std::ostringstream hello;
    hello << "hello " << getpid() << " " << settings.rank << " " << settings.world << " "
          << settings.server << " " << Word(program_invocation_short_name);
    Tell(hello.str());
    StartClock();
}

void
Machine::Take(const std::string& line)
{
    std::istringstream text(line);
    std::vector<std::string> words;
    for (std::string word; text >> word;)
    {
        words.push_back(std::move(word));
    }
    if (words.empty())
    {
        return;
    }
    if (words[0] == "fail")
    {
        // The capture says why.
        std::fflush(nullptr);
        _exit(1);
    }
    Lock lock(mutex);
    ++m_taken;
    for (const auto& listener : m_listeners)
    {
        if (listener(words, lock))
        {
            break;
        }
    }
    Progress(lock);
    m_changed.notify_all();
}

void
Machine::Listen(std::function<bool(const std::vector<std::string>&, Lock&)> take)
{
    m_listeners.push_back(std::move(take));
}

// ---- streams

Gpu&
Machine::GpuAt(int ordinal)
{
    const auto& visible = TheSettings().visible;
    return m_gpus[static_cast<std::size_t>(visible[static_cast<std::size_t>(ordinal)])];
}

Gpu&
Machine::CurrentGpu()
{
    return GpuAt(CurrentOrdinal());
}

Stream*
Machine::Find(void* handle)
{
    // 0: the default stream; 1: the same, by its name; 2: one for each thread, which is one here.
    if (reinterpret_cast<uintptr_t>(handle) <= 2)
    {
        return TheSettings().visible.empty() ? nullptr : CurrentGpu().streams[0].get();
    }
    for (const Gpu& gpu : m_gpus)
    {
        for (const auto& stream : gpu.streams)
        {
            if (stream.get() == handle)
            {
                return stream.get();
            }
        }
    }
    return nullptr;
}

Stream*
Machine::NewStream(unsigned flags, int priority)
{
    Gpu& gpu = CurrentGpu();
    gpu.streams.push_back(std::make_unique<Stream>());
    Stream* made = gpu.streams.back().get();
    made->gpu = &gpu;
    made->number = gpu.nextStream++;
    made->flags = flags;
    made->blocking = (flags & 1) == 0;
    made->priority = priority;
    return made;
}

void
Machine::Destroy(Stream* stream)
{
    auto& streams = stream->gpu->streams;
    streams.erase(std::find_if(streams.begin(), streams.end(), [stream](const auto& one) {
        return one.get() == stream;
    }));
}

void
Machine::Queue(Stream* stream, std::unique_ptr<Work> work)
{
    work->issued = Now();
    ++stream->issued;
    if (stream->works.empty())
    {
        m_busy.push_back(stream);
    }
    stream->works.push_back(std::move(work));
}

void
Machine::Follow(Stream* stream)
{
    if (!stream->blocking)
    {
        return;
    }
    Stream* common = stream->gpu->streams[0].get();
    const auto wait = [this](Stream* waits, Stream* other) {
        auto moment = std::make_shared<Moment>();
        moment->number = ++m_moments;
        RecordEvent(*other, moment->number);
        RecordWait(*waits, moment->number);
        Queue(other, std::make_unique<Reaching>(moment));
        Queue(waits, std::make_unique<Waiting>(moment));
    };
    if (stream != common)
    {
        if (stream->sawDefault != common->issued)
        {
            wait(stream, common);
            stream->sawDefault = common->issued;
        }
        return;
    }
    for (const auto& other : stream->gpu->streams)
    {
        if (other.get() != common && other->blocking && other->seenByDefault != other->issued)
        {
            wait(common, other.get());
            other->seenByDefault = other->issued;
        }
    }
}

void
Machine::Issue(Stream* stream, std::function<void(Stream*)> issue)
{
    if (stream->captured)
    {
        stream->captured->issues.push_back(std::move(issue));
        return;
    }
    Follow(stream);
    issue(stream);
}

void
Machine::Add(Stream* stream, std::unique_ptr<Work> work)
{
    Queue(stream, std::move(work));
}

void
Machine::AddTimed(Stream* stream, Time duration, std::function<void()> effect)
{
    Queue(stream, std::make_unique<Timed>(duration, std::move(effect)));
}

std::shared_ptr<Moment>
Machine::RecordMoment(Stream* stream)
{
    auto moment = std::make_shared<Moment>();
    moment->number = ++m_moments;
    RecordEvent(*stream, moment->number);
    Queue(stream, std::make_unique<Reaching>(moment));
    return moment;
}

void
Machine::WaitFor(Stream* stream, std::shared_ptr<Moment> moment)
{
    RecordWait(*stream, moment->number);
    Queue(stream, std::make_unique<Waiting>(std::move(moment)));
}

void
Machine::AddCallback(Stream* stream, std::function<void()> callback)
{
    auto work = std::make_unique<Calling>();
    work->callback = std::move(callback);
    Queue(stream, std::move(work));
}

void
Machine::Progress(Lock& lock)
{
    for (bool moved = true; moved;)
    {
        moved = false;
        for (std::size_t i = 0; i < m_busy.size(); ++i)
        {
            Stream* stream = m_busy[i];
            while (!stream->works.empty() && !stream->isCalling)
            {
                Work& work = *stream->works.front();
                const Ran ran = work.Run(*stream);
                if (ran == Ran::kWaits)
                {
                    break;
                }
                if (ran == Ran::kCallback)
                {
                    stream->isCalling = true;
                    lock.unlock();
                    work.callback();
                    lock.lock();
                    stream->isCalling = false;
                }
                stream->works.pop_front();
                moved = true;
            }
        }
        m_busy.erase(std::remove_if(m_busy.begin(),
                                    m_busy.end(),
                                    [](const Stream* one) { return one->works.empty(); }),
                     m_busy.end());
    }
}

void
Machine::WaitUntil(Lock& lock, const std::function<bool(Time*)>& done)
{
    Time until = 0;
    {
        const Outside outside;
        Progress(lock);
        while (!done(&until))
        {
            Tell("blocked " + std::to_string(m_taken));
            m_changed.wait(lock);
            Progress(lock);
        }
    }
    AdvanceTo(until);
}

void
Machine::WaitShortly(Lock& lock)
{
    // Long enough for others to go on, short enough for what comes first.
    const timespec shortly{0, 100000};
    const Outside outside;
    lock.unlock();
    syscall(SYS_nanosleep, &shortly, nullptr); // not the program's own, which its clock counts
    lock.lock();
    Progress(lock);
}

bool
Machine::IsIdle(const Stream& stream) const
{
    return stream.works.empty();
}

void
Machine::Synchronize(Lock& lock, Stream* stream)
{
    Follow(stream);
    WaitUntil(lock, [stream](Time* until) {
        *until = stream->ready;
        return stream->works.empty();
    });
}

void
Machine::SynchronizeGpu(Lock& lock, Gpu& gpu)
{
    WaitUntil(lock, [&gpu](Time* until) {
        for (const auto& stream : gpu.streams)
        {
            if (!stream->works.empty())
            {
                return false;
            }
            *until = std::max(*until, stream->ready);
        }
        return true;
    });
}

} // namespace gpus
