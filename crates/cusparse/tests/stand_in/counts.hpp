// Named counters of a stand-in, and the settings that tests give it in the environment.

#pragma once
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <pthread.h>
#include <string>
#include <vector>

// Locks that no other thread holds when a process forks, so that they are free in the child.
struct Locks {
    std::vector<std::mutex*> all;

    static Locks& get()
    {
        static Locks& locks = *new Locks;
        return locks;
    }
    Locks()
    {
        pthread_atfork([] { for (std::mutex* lock : get().all) lock->lock(); },
                       [] { for (std::mutex* lock : get().all) lock->unlock(); },
                       [] { for (std::mutex* lock : get().all) lock->unlock(); });
    }
};

// Never destroyed: threads of a program that ends go on.
inline std::mutex& made_lock()
{
    std::mutex* const lock = new std::mutex;
    Locks::get().all.push_back(lock);
    return *lock;
}

inline std::mutex& counters_lock = made_lock();

// The counter of that name, 0 at first.
inline std::atomic<long>& counter(const std::string& name)
{
    static auto& counters = *new std::map<std::string, std::atomic<long>>;
    std::lock_guard<std::mutex> lock(counters_lock);
    return counters[name];
}

#define COUNT(name)                                          \
    do {                                                     \
        static std::atomic<long>& count = counter(name);     \
        count.fetch_add(1, std::memory_order_relaxed);       \
    } while (0)

// A number of the environment.
inline double setting(const char* name, double otherwise)
{
    const char* value = std::getenv(name);
    return value && *value ? std::atof(value) : otherwise;
}

// The number behind `key=` in a list of the environment, `csr_vector=5,csr_scalar=8`.
inline double setting_of(const char* name, const std::string& key, double otherwise)
{
    const char* value = std::getenv(name);
    const std::string list = std::string(",") + (value ? value : "");
    const size_t at = list.find("," + key + "=");
    return at == std::string::npos ? otherwise : std::atof(list.c_str() + at + key.size() + 2);
}
