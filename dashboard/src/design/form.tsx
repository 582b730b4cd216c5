import {useRef, useState} from 'preact/hooks';

// What a form does when it is sent, once until that is answered, and what the server refused of it in a sentence; '' unless it did.
export function useForm(send: () => Promise<void>): {submit(event: Event): Promise<void>; problem: string} {
  const [problem, setProblem] = useState('');
  const busy = useRef(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy.current) return;
    busy.current = true;
    setProblem('');
    try {
      await send();
    } catch (error) {
      setProblem((error as Error).message);
    } finally {
      busy.current = false;
    }
  };
  return {submit, problem};
}

export function Problem({text}: {text: string}) {
  if (!text) return null;
  return (
    <p class="dialog-error" role="alert">
      {text}
    </p>
  );
}
